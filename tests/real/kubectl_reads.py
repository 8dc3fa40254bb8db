"""What kubectl prints of the sandbox's sample in cluster west: a command, and patterns that lines of its output match.

The columns are those of the CRDs and of Kubernetes' own printers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

READS: Mapping[str, Sequence[str]] = {
    "get svcex,svcim -A": [
        r"^NAMESPACE +NAME +AGE$",
        r"^shop +serviceexport.multicluster.x-k8s.io/web +\d+s$",
        r"^NAMESPACE +NAME +TYPE +IP +AGE$",
        r'^shop +serviceimport.multicluster.x-k8s.io/web +ClusterSetIP +\["10.97.[\d.]+","fd00:10:97::\w+"\] +\d+s$',
        r"^shop +serviceimport.multicluster.x-k8s.io/db +Headless +\d+s$",
    ],
    "get svc,pods,endpointslices -A -o wide": [
        r"^NAMESPACE +NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE +SELECTOR$",
        r"^shop +service/web +ClusterIP +10.97.[\d.]+ +<none> +80/TCP,443/TCP +\d+s +app=web$",
        r"^shop +service/db +ClusterIP +None +",
        r"^shop +pod/db-0 +1/1 +Running +0 +\d+s +10.245.[\d.]+ +west-\d +<none> +<none>$",
        r"^shop +endpointslice.discovery.k8s.io/web-\w+ +IPv6 +8080,8443 +fd00:",
    ],
    "get deploy,rs,sts -n shop": [
        r"^deployment.apps/web +2/2 +2 +2 +\d+s$",
        r"^replicaset.apps/web-\w+ +2 +2 +2 +\d+s$",
        r"^statefulset.apps/db +3/3 +\d+s$",
    ],
    "get nodes,namespaces,crd": [r"^node/west-1 +Ready ", r"^namespace/shop +Active "],
    "get all -n shop": [r"^pod/db-2 ", r"^service/web ", r"^deployment.apps/web ", r"^statefulset.apps/db "],
    "get pods -n shop -l app=db --field-selector=status.phase=Running -o name": [
        r"\Apod/db-0\npod/db-1\npod/db-2\n\Z"
    ],
    "get svcim -n shop -o custom-columns=N:.metadata.name,T:.spec.type": [
        r"\AN +T\ndb +Headless\nweb +ClusterSetIP\n\Z"
    ],
    "describe svcex web -n shop": [
        r"^Kind: +ServiceExport$",
        r"^    Type: +Valid$",
        r"^    Message: +The service is exported to the clusterset.$",
        r"^Events: +<none>$",
    ],
    "describe svcim web -n shop": [
        r"^  Type: +ClusterSetIP$",
        r"^    Cluster: +east$",
        r"^    Cluster: +west$",
    ],
    "describe svc web -n shop": [
        r"^IP Families: +IPv4,IPv6$",
        r"^TargetPort: +http/TCP$",
        r"^Endpoints: +\S+:8080,\S+:8080,\S+:8080 \+ 1 more...$",
    ],
    "describe deploy web -n shop": [
        r"^Replicas: +2 desired \| 2 updated \| 2 total \| 2 available \| 0 unavailable$",
        r"^NewReplicaSet: +web-\w+ \(2/2 replicas created\)$",
    ],
    "describe sts,pod,node,ns -A": [
        r"^Pods Status: +3 Running / 0 Waiting ",
        r"^Controlled By: +StatefulSet/db$",
    ],
    "explain svcim": [r"^KIND: +ServiceImport$", r"^VERSION: +v1beta1$", r"^  spec\t<Object>$"],
    "explain svcim.spec.ports --recursive": [
        r"^FIELD: ports <\[\]Object>$",
        r"^  port\t<integer> -required-$",
    ],
    "api-resources": [
        r"^serviceexports +svcex,svcexport +multicluster.x-k8s.io/v1beta1 +true +ServiceExport$",
        r"^endpointslices +discovery.k8s.io/v1 +true +EndpointSlice$",
    ],
    "version": [r"^Server Version: v1.34"],
    "wait --for=condition=Ready svcex --all -n shop --timeout=10s": [
        r"^serviceexport.\S+/web condition met$"
    ],
    "wait --for=condition=Ready svcim/db -n shop --timeout=10s": [r"^serviceimport.\S+/db condition met$"],
    "wait --for=condition=Available deploy/web -n shop --timeout=10s": [
        r"^deployment.apps/web condition met$"
    ],
    "wait --for=jsonpath={.status.readyReplicas}=3 sts/db -n shop --timeout=10s": [
        r"^statefulset.apps/db condition met$"
    ],
    "rollout status sts/db -n shop": [r"^partitioned roll out complete: 3 new pods"],
}
