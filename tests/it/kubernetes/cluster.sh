# Runs etcd, kube-apiserver and `kubectl proxy` in FOLDER until standard input ends: that is when the tests are over, however
# they ended. Then it ends all three and removes the folder.
#
#   sh cluster.sh FOLDER ETCD KUBE_APISERVER KUBECTL PORT_OF_ETCD PORT_OF_KUBE_APISERVER
cd "$1" || exit

"$2" --data-dir=etcd --unsafe-no-fsync --listen-peer-urls=http://127.0.0.1:0 \
    --listen-client-urls="http://127.0.0.1:$5" --advertise-client-urls="http://127.0.0.1:$5" >etcd.log 2>&1 &
programs=$!

# The tests have kubelets; webhook/dev/up has none.
kubelets=
if [ -f kubelets.crt ]; then
    kubelets="--kubelet-certificate-authority=kubelets.crt --kubelet-client-certificate=kubelet-client.crt
        --kubelet-client-key=kubelet-client.key --kubelet-preferred-address-types=InternalIP"
fi

# Privileged containers are allowed as in any cluster that runs its own network. Priorities and runtime classes that
# manifests name are not in this one: nobody asks for them.
"$3" --etcd-servers="http://127.0.0.1:$5" --bind-address=127.0.0.1 --secure-port="$6" --cert-dir=certificates \
    --token-auth-file=tokens.csv --authorization-mode=RBAC --service-cluster-ip-range=10.0.0.0/24 --allow-privileged \
    --service-account-issuer=https://127.0.0.1 --service-account-key-file=service-account.key \
    --service-account-signing-key-file=service-account.key $kubelets \
    --disable-admission-plugins=Priority,RuntimeClass >kube-apiserver.log 2>&1 &
programs="$programs $!"

# It speaks TLS and says who we are, so that the tests need neither.
"$4" proxy --kubeconfig=kubeconfig --port=0 >kubectl.log 2>&1 &
programs="$programs $!"

read -r _
# At once: an API server that is asked to end and finds its etcd gone stays for minutes.
kill -KILL $programs
wait
cd / && rm -rf "$1"
