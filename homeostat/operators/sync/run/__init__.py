"""One sync: its plan as a value, and the run that carries it out.

    prepared = await make_plan(session, scope, options, record, now=now, revision=revision)
    report, record = await execute(session, prepared, record, now=clock, save=save)

The operator and the commands share it, and the format of the record.
"""
