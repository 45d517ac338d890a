#!/bin/bash
# Build the control plane for tools/kubernetes_cluster.py from Debian bookworm's source package, without network for Go:
# tools/kubernetes_binaries.sh DIRECTORY. Needs golang-go, dpkg-dev, and deb-src lines in the sources of apt. About 20 minutes of two
# busy processors, 2 GB.
set -euo pipefail
mkdir -p "$1/source" "$1/bin"
cd "$1"
here=$PWD
(cd source && apt-get source --download-only kubernetes && dpkg-source --extract kubernetes_*.dsc kubernetes)
# The sources expect to be in GOPATH, with their dependencies beside them.
export GOPATH=$here/go GOCACHE=$here/cache GO111MODULE=off CGO_ENABLED=0
mkdir -p go/src/k8s.io
ln -sfn "$here/source/kubernetes" go/src/k8s.io/kubernetes
cd go/src/k8s.io/kubernetes
# One file is generated: the API description of the server.
go build -o "$here/bin/openapi-gen" k8s.io/kubernetes/vendor/k8s.io/kube-openapi/cmd/openapi-gen
packages=$(find pkg cmd staging/src/k8s.io -name '*.go' ! -name 'zz_*' ! -path '*/_examples/*' ! -path '*/testdata/*' \
    ! -path '*/code-generator/*' ! -path '*/sample-apiserver/*' -exec grep -l '+k8s:openapi-gen=' {} + | xargs -n1 dirname | sort -u \
    | sed 's#^staging/src/#k8s.io/kubernetes/vendor/#; s#^pkg/#k8s.io/kubernetes/pkg/#; s#^cmd/#k8s.io/kubernetes/cmd/#' | paste -sd,)
"$here/bin/openapi-gen" --go-header-file hack/boilerplate/boilerplate.generatego.txt -i "$packages" \
    -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi -r "$here/violations"
version="-X k8s.io/component-base/version.gitVersion=v1.20.2 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=20"
for command in kube-apiserver kube-scheduler kube-controller-manager; do
    go build -ldflags "-s -w $version" -o "$here/bin/$command" "k8s.io/kubernetes/cmd/$command"
done
