module lab/mcs-api

go 1.26

require sigs.k8s.io/mcs-api v0.5.2
