"""Objects the tests write, as YAML that a person would keep in a file."""

from __future__ import annotations

CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  labels: {app: web, tier: front}
  annotations: {owner: team-a}
data:
  mode: fast
  level: "3"
"""

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: example.com/web:1.0
        ports:
        - containerPort: 8080
        env:
        - {name: MODE, value: fast}
        - {name: LEVEL, value: "3"}
"""

DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gardens.{group}
spec:
  group: {group}
  scope: Namespaced
  names: {{kind: Garden, plural: gardens, singular: garden, shortNames: [gd], categories: [all, outdoors]}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {{}}
      scale: {{specReplicasPath: .spec.beds, statusReplicasPath: .status.beds}}
    additionalPrinterColumns:
    - {{name: Beds, type: integer, jsonPath: .spec.beds}}
    - {{name: Soil, type: string, jsonPath: .spec.soil, priority: 1}}
    selectableFields:
    - jsonPath: .spec.soil
    schema:
      openAPIV3Schema:
        type: object
        description: A garden with its beds.
        properties:
          spec:
            type: object
            description: What should grow.
            required: [beds]
            properties:
              beds: {{type: integer, minimum: 1, description: How many beds there are.}}
              soil: {{type: string, default: loam, enum: [loam, sand, clay]}}
              plants:
                type: array
                items:
                  type: object
                  properties:
                    name: {{type: string}}
                    rows: {{type: integer}}
            x-kubernetes-validations:
            - rule: "!has(self.plants) || self.plants.size() <= self.beds"
              message: every plant needs a bed
          status:
            type: object
            properties:
              beds: {{type: integer}}
              conditions:
                type: array
                items:
                  type: object
                  properties:
                    type: {{type: string}}
                    status: {{type: string}}
"""

GARDEN = """\
apiVersion: {group}/v1
kind: Garden
metadata: {{name: {name}}}
spec: {{beds: 3}}
"""
