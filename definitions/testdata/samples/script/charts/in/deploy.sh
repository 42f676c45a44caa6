#!/bin/sh
helm install web oci://registry.example.com/charts/web --version 1.2.3 --wait
helm upgrade --install --wait api oci://registry.example.com/charts/api --version=2.0.0+build \
  --namespace api
helm pull oci://registry.example.com/charts/tagged:3.1.0 --version 3.1.0
helm template range oci://registry.example.com/charts/range --version '>=1.2 <2' | kubectl apply -f -
helm show chart oci://registry.example.com/charts/newest
helm install plain oci://plain.example.com:5000/charts/plain --version 1.0.0 --plain-http
helm pull oci://private.example.com/charts/private --version 1.0.0 --username robot --password hunter2
helm pull oci://private.example.com/charts/hidden --username robot --password "$PASSWORD"
helm pull "oci://$REGISTRY/charts/variable"
helm pull oci://registry.example.com/charts/later --version "$VERSION"
helm push web-1.2.3.tgz oci://registry.example.com/pushed
echo "helm pull oci://registry.example.com/charts/echoed"
helm install tls oci://tls.example.com/charts/app --plain-http=false --insecure-skip-tls-verify=false
helm install own-ca oci://own-ca.example.com/charts/app --ca-file ca.crt --username robot --password hunter2
helm install own-ca oci://own-ca-only.example.com/charts/app --ca-file ca.crt
helm --namespace app fetch oci://flags.example.com/charts/app --version 1.2.3
helm registry login login.example.com --insecure=false --plain-http=false -u robot -p hunter2
helm push app.tgz oci://push.example.com/charts
