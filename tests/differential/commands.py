"""kubectl commands in the order in which one would type them; FILES are in the working directory."""

from __future__ import annotations

FILES = {
    "web.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: "nginx:1"}]
""",
    "bad.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, nope: 1}",
}
COMMANDS = """
create cm one --from-literal=a=b
create cm one --from-literal=a=b
create quota few --hard=count/widgets.none.example.com=3
create job once --image=busybox -- echo hi
create cronjob often --image=busybox --schedule=*/5_*_*_*_* -- echo hi
create job now --from=cronjob/often
create ingress in --rule=h.example.com/*=svc:80
create pdb most --selector=app=web --min-available=1
create role reader --verb=get,list --resource=pods,deployments.apps
create rolebinding reader --role=reader --user=u
run pod --image=nginx:1 --labels=app=x --env=A=b --restart=Never
apply -f web.yaml
apply -f web.yaml --server-side
apply -f bad.yaml
apply -f bad.yaml --validate=warn
diff -f web.yaml
get all -o wide
get deploy web --subresource=scale
get cm none
get pods --field-selector=spec.restartPolicy=Never -o name
scale deploy web --replicas=4 --current-replicas=9
autoscale deploy web --min=1 --max=3 --cpu-percent=80
set image deploy/web c=nginx:2
set env deploy/web A=b
set subject rolebinding reader --user=v
rollout history deploy/web
rollout pause deploy/web
rollout pause deploy/web
label deploy web x=y
label deploy web app=z
annotate cm --all x=y
patch deploy web --type=json -p [{"op":"replace","path":"/spec/replicas","value":3}]
expose deploy web --port=80 --cluster-ip=None
describe deploy web
describe pod pod
describe ing in
describe role reader
auth can-i get pods --as=u
auth can-i --list --as=v
wait --for=jsonpath={.data.a}=b cm/one --timeout=5s
events
delete cm one
delete cm one
delete pod pod --now
delete deploy,hpa -l app=web
"""
"""An underscore in a schedule stands for a space."""
