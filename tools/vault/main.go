// A real Vault for tests: its core, its HTTP API, the KV engine and the logins that Homeostat uses, with storage in
// memory. The whole program also holds the clients of a dozen clouds, and building those takes an hour of one core.
package main

import (
	"log"
	"net"
	"net/http"
	"os"
	"sort"

	hclog "github.com/hashicorp/go-hclog"
	kubernetes "github.com/hashicorp/vault-plugin-auth-kubernetes"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	"github.com/hashicorp/vault/builtin/credential/approle"
	"github.com/hashicorp/vault/builtin/credential/userpass"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

type registry map[consts.PluginType]map[string]logical.Factory

func (r registry) Contains(name string, kind consts.PluginType) bool {
	_, found := r[kind][name]
	return found
}

func (r registry) Get(name string, kind consts.PluginType) (func() (interface{}, error), bool) {
	factory, found := r[kind][name]
	return func() (interface{}, error) { return factory, nil }, found
}

func (r registry) Keys(kind consts.PluginType) []string {
	names := []string{}
	for name := range r[kind] {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func (r registry) DeprecationStatus(name string, kind consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, r.Contains(name, kind)
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: vault HOST:PORT")
	}
	logger := hclog.New(&hclog.LoggerOptions{Output: os.Stderr, Level: hclog.Warn})
	storage, err := inmem.NewInmem(nil, logger)
	if err != nil {
		log.Fatal(err)
	}
	builtin := registry{
		consts.PluginTypeSecrets:    {"kv": kv.Factory},
		consts.PluginTypeCredential: {"approle": approle.Factory, "userpass": userpass.Factory, "kubernetes": kubernetes.Factory},
	}
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical:           storage,
		LogicalBackends:    builtin[consts.PluginTypeSecrets],
		CredentialBackends: builtin[consts.PluginTypeCredential],
		BuiltinRegistry:    builtin,
		DisableMlock:       true,
		Logger:             logger,
	})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	properties := &vault.HandlerProperties{Core: core, ListenerConfig: &configutil.Listener{}}
	log.Fatal(http.Serve(listener, vaulthttp.Handler.Handler(properties)))
}
