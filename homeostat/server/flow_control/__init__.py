"""API priority and fairness: which calls wait for which others, as FlowSchemas and PriorityLevelConfigurations say."""
