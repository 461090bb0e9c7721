import pytest

from homeostat.objects.crd.definition import validate_crd
from tests.objects.definitions import Edit, column, good_crd, scale, selectable, version

BAD: dict[str, tuple[Edit, str, str]] = {
    "warning without deprecation": (
        version(deprecationWarning="old"),
        "spec.versions[0].deprecationWarning",
        'Invalid value: "old": can only be set for deprecated versions',
    ),
    "empty warning": (
        version(deprecated=True, deprecationWarning=""),
        "spec.versions[0].deprecationWarning",
        'Invalid value: "": must not be an empty string',
    ),
    "long warning": (
        version(deprecated=True, deprecationWarning="a" * 257),
        "spec.versions[0].deprecationWarning",
        f'Invalid value: "{"a" * 257}": must be <= 256 characters long',
    ),
    "unprintable warning": (
        version(deprecated=True, deprecationWarning="a\nb"),
        "spec.versions[0].deprecationWarning",
        r'Invalid value: "a\nb": must only contain printable UTF-8 characters; non-printable character found at',
    ),
    "no replicas path": (
        scale(specReplicasPath=""),
        "spec.subresources.scale.specReplicasPath",
        "Required value",
    ),
    "no status replicas path": (
        scale(statusReplicasPath=None),
        "spec.subresources.scale.statusReplicasPath",
        "Required value",
    ),
    "replicas path without a dot": (
        scale(specReplicasPath="spec.replicas"),
        "spec.subresources.scale.specReplicasPath",
        'Invalid value: "spec.replicas": must be a simple json path starting with .',
    ),
    "replicas path elsewhere": (
        scale(specReplicasPath=".status.replicas"),
        "spec.subresources.scale.specReplicasPath",
        'Invalid value: ".status.replicas": should be a json path under .spec',
    ),
    "status replicas path elsewhere": (
        scale(statusReplicasPath=".spec.replicas"),
        "spec.subresources.scale.statusReplicasPath",
        'Invalid value: ".spec.replicas": should be a json path under .status',
    ),
    "selector path elsewhere": (
        scale(labelSelectorPath=".metadata.x"),
        "spec.subresources.scale.labelSelectorPath",
        'Invalid value: ".metadata.x": should be a json path under either .spec or .status',
    ),
    "column without a name": (column(name=""), "spec.additionalPrinterColumns[0].name", "Required value"),
    "column without a type": (
        column(type=None),
        "spec.additionalPrinterColumns[0].type",
        "Required value: must be one of boolean,date,integer,number,string",
    ),
    "column of a bad type": (
        column(type="object"),
        "spec.additionalPrinterColumns[0].type",
        'Invalid value: "object": must be one of boolean,date,integer,number,string',
    ),
    "column of a bad format": (
        column(format="int8"),
        "spec.additionalPrinterColumns[0].format",
        'Invalid value: "int8"',
    ),
    "column without a path": (column(jsonPath=""), "spec.additionalPrinterColumns[0].JSONPath", "Required value"),
    "column path without a dot": (
        column(jsonPath="spec.color"),
        "spec.additionalPrinterColumns[0].JSONPath",
        'Invalid value: "spec.color": must be a simple json path starting with .',
    ),
    "selectable without a path": (selectable(""), "spec.selectableFields[0].jsonPath", "Required value"),
    "selectable that is not there": (
        selectable(".spec.colour"),
        "spec.selectableFields[0].jsonPath",
        'Invalid value: ".spec.colour": is an invalid path: does not refer to a valid field',
    ),
    "selectable object": (
        selectable(".spec"),
        "spec.selectableFields[0].jsonPath",
        'Invalid value: ".spec": must point to a field of type string, boolean or integer.',
    ),
    "selectable in brackets": (
        selectable(".spec['color']"),
        "spec.selectableFields[0].jsonPath",
        "Invalid value: \".spec['color']\": is an invalid path: array notation is not allowed",
    ),
    "selectable twice": (
        selectable(".spec.color", ".spec.color"),
        "spec.selectableFields[1].jsonPath",
        'Duplicate value: ".spec.color"',
    ),
}


@pytest.mark.parametrize(("edit", "field", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_part_of_a_version_is_refused(edit: Edit, field: str, message: str) -> None:
    crd = good_crd()
    edit(crd)
    causes = validate_crd(crd)
    assert any(cause.field == field and cause.message.startswith(message) for cause in causes), causes


def test_the_ninth_selectable_field_is_too_many() -> None:
    crd = good_crd()
    members = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    members.update({f"f{n}": {"type": "string"} for n in range(9)})
    selectable(*(f".spec.f{n}" for n in range(9)))(crd)
    (cause,) = validate_crd(crd)
    assert (cause.field, cause.message) == ("spec.selectableFields", "Too many: 9: must have at most 8 items")
