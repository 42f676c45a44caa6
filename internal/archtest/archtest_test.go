//go:build !race

// Package archtest tests the rules of ARCHITECTURE.md that the compiler does not check: the allowed imports between
// packages, and that every package has a package comment.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/regwarden/regwarden"

// mayImport lists, for every package of the product, the packages of this module that it may import. The direction is
// cmd, server, domain, store. A new package needs a line here.
var mayImport = map[string][]string{
	"secret": {},
	"egress": {},
	"regcheck": {"egress", "internal/expiry", "regcheck/internal/artifact", "regcheck/internal/certs", "regcheck/internal/challenge",
		"regcheck/internal/chartindex", "regcheck/internal/chartrepo", "regcheck/internal/codes", "regcheck/internal/content",
		"regcheck/internal/credentials", "regcheck/internal/endpoint",
		"regcheck/internal/known", "regcheck/internal/message", "regcheck/internal/oci",
		"regcheck/internal/probe",
		"regcheck/internal/product", "regcheck/internal/provider", "regcheck/internal/source", "internal/spelling",
		"regcheck/internal/wire"},
	"regcheck/inventory": {"regcheck", "regcheck/internal/chartindex",
		"regcheck/internal/content", "regcheck/internal/oci", "regcheck/internal/wire"},
	"regcheck/internal/artifact": {"regcheck/internal/codes", "regcheck/internal/content", "regcheck/internal/layout",
		"regcheck/internal/message", "regcheck/internal/oci", "regcheck/internal/product", "regcheck/internal/wire"},
	"regcheck/internal/chartindex": {"internal/lazyregexp"},
	"regcheck/internal/chartrepo": {"egress", "internal/spelling", "regcheck/internal/challenge", "regcheck/internal/chartindex",
		"regcheck/internal/codes", "regcheck/internal/endpoint", "regcheck/internal/message", "regcheck/internal/probe",
		"regcheck/internal/product", "regcheck/internal/wire"},
	"regcheck/internal/codes": {"regcheck/internal/message", "regcheck/internal/source"},
	"regcheck/internal/content": {"regcheck/internal/challenge", "regcheck/internal/endpoint", "regcheck/internal/oci",
		"regcheck/internal/wire"},
	"regcheck/internal/probe": {"regcheck/internal/challenge", "regcheck/internal/endpoint", "regcheck/internal/oci",
		"regcheck/internal/wire"},
	"regcheck/internal/challenge": {"egress", "regcheck/internal/certs", "regcheck/internal/codes", "regcheck/internal/wire"},
	"regcheck/internal/certs":     {"egress", "regcheck/internal/codes", "regcheck/internal/message", "regcheck/internal/wire"},
	"regcheck/internal/credentials": {"regcheck/internal/certs", "regcheck/internal/challenge", "regcheck/internal/endpoint",
		"regcheck/internal/message", "regcheck/internal/source", "secret"},
	"regcheck/internal/endpoint": {"egress", "regcheck/internal/message"},
	"regcheck/internal/known":    {"regcheck/internal/artifact"},
	"regcheck/internal/layout":   {},
	"regcheck/internal/message":  {"egress"},
	"regcheck/internal/oci":      {"internal/lazyregexp", "regcheck/internal/message", "regcheck/internal/wire"},
	"regcheck/internal/product": {"internal/lazyregexp", "regcheck/internal/challenge", "regcheck/internal/codes",
		"regcheck/internal/message", "regcheck/internal/wire"},
	"regcheck/reporttext": {"regcheck", "regcheck/internal/layout", "regcheck/internal/wire"},
	"internal/cloudtest":  {},
	"regcheck/internal/provider": {"egress", "regcheck/internal/certs", "regcheck/internal/message", "regcheck/internal/source",
		"regcheck/internal/wire"},
	"regcheck/internal/source": {"internal/expiry", "internal/lazyregexp",
		"regcheck/internal/endpoint", "regcheck/internal/message", "secret"},
	"regcheck/internal/wire": {"egress", "regcheck/internal/message", "secret"},
	"regcheck/regchecktest":  {},
	"definitions": {"definitions/internal/docker", "definitions/internal/kubernetes", "definitions/internal/projects",
		"definitions/internal/runtimes", "definitions/internal/scanner", "definitions/model"},
	"definitions/model": {"regcheck", "secret"},
	"definitions/internal/docker": {"definitions/internal/dockerauth", "definitions/internal/node", "definitions/internal/scanner",
		"definitions/model", "regcheck", "secret"},
	"definitions/internal/scanner": {"definitions/internal/dockerauth", "definitions/internal/inspect", "definitions/internal/node",
		"definitions/model", "internal/process/cputime", "internal/expiry", "internal/lazyregexp", "regcheck", "secret"},
	"definitions/internal/kubernetes": {"definitions/internal/argorepo", "definitions/internal/docker", "definitions/internal/dockerauth",
		"definitions/internal/node", "definitions/internal/scanner", "definitions/model",
		"internal/spelling", "regcheck", "secret"},
	"definitions/internal/runtimes": {"definitions/internal/dockerauth", "definitions/internal/node",
		"definitions/internal/runtimeconf", "definitions/internal/scanner", "definitions/model", "internal/lazyregexp", "regcheck",
		"secret"},
	"definitions/internal/projects": {"definitions/internal/docker", "definitions/internal/dockerauth",
		"definitions/internal/kubernetes", "definitions/internal/node", "definitions/internal/scanner", "definitions/internal/shell",
		"definitions/model",
		"internal/lazyregexp", "regcheck", "secret"},
	"definitions/internal/argorepo":    {"secret"},
	"definitions/internal/dockerauth":  {"definitions/internal/inspect", "definitions/internal/node", "secret"},
	"definitions/internal/inspect":     {"internal/lazyregexp"},
	"definitions/internal/node":        {"internal/lazyregexp"},
	"definitions/internal/runtimeconf": {"definitions/internal/dockerauth", "definitions/internal/node", "internal/lazyregexp"},
	"definitions/internal/shell":       {"internal/lazyregexp"},
	"api":                              {"regcheck", "secret"},
	"client":                           {"api", "definitions/model", "internal/lazyregexp", "regcheck", "secret"},
	"internal/fault":                   {},
	"internal/audit":                   {},
	"internal/expiry":                  {},
	"internal/lazyregexp":              {},
	"internal/clock":                   {},
	"internal/loop":                    {},
	"internal/strictjson":              {"internal/fault", "internal/lazyregexp"},
	"internal/storage/seal":            {"secret"},
	"internal/web/selfsigned":          {},
	"internal/web/servercert":          {"internal/storage/seal", "internal/web/selfsigned"},
	"internal/process/filelock":        {"internal/loop"},
	"internal/process/coredump":        {},
	"internal/process/program":         {},
	"internal/cli/flagvalue":           {"internal/lazyregexp"},
	"internal/web/auxiliary":           {},
	"internal/service/alertbodies":     {},
	"internal/service/paging":          {"internal/fault"},
	"internal/spelling":                {},
	"internal/fixes":                   {"definitions/model", "regcheck"},
	"internal/cli/scan": {"definitions", "definitions/model", "internal/cli/command", "internal/fixes", "internal/cli/scanreport",
		"internal/lazyregexp",
		"internal/process/program", "internal/spelling", "regcheck", "regcheck/reporttext", "secret"},
	"internal/storage/sortkeys": {"internal/service/auth/names", "internal/storage/sqldb"},
	"internal/storage/store": {"internal/service/auth/names", "internal/storage/sortkeys",
		"internal/storage/audits", "internal/storage/changelist", "internal/storage/identities",
		"internal/storage/invitations", "internal/storage/jsontext",
		"internal/storage/keyset", "internal/storage/rows", "internal/storage/seal", "internal/storage/sqldb", "internal/storage/teams",
		"internal/storage/incidents", "internal/storage/listdetails", "internal/storage/mutes",
		"internal/storage/provisioned", "internal/storage/roles", "internal/storage/secondfactors",
		"internal/storage/tenants",
		"internal/storage/trusts", "secret"},
	"internal/storage/secondfactors": {"internal/storage/rows", "internal/storage/seal", "secret"},
	"internal/storage/listdetails":   {"internal/storage/jsontext", "internal/storage/rows"},
	"internal/storage/mutes":         {"internal/storage/rows"},
	"internal/storage/incidents":     {"internal/storage/rows"},
	"internal/storage/provisioned":   {"internal/storage/rows"},
	"internal/storage/invitations":   {"internal/storage/rows"},
	"internal/storage/tenants":       {"internal/storage/jsontext", "internal/storage/rows"},
	"internal/storage/audits": {"internal/audit", "internal/storage/auditbatch", "internal/storage/rows", "internal/storage/seal",
		"internal/storage/sqldb"},
	"internal/storage/rows":       {"internal/storage/sqldb"},
	"internal/storage/changelist": {"internal/storage/sqldb"},
	"internal/storage/auditbatch": {"internal/audit"},
	"internal/storage/jsontext":   {},
	"internal/storage/keyset":     {"internal/storage/seal", "internal/storage/sqldb"},
	"internal/storage/sqldb": {"internal/loop",
		"internal/fault", "internal/process/filelock", "internal/lazyregexp", "internal/storage/seal",
		"secret"},
	"internal/storage/partitions":   {"internal/lazyregexp", "internal/storage/sqldb"},
	"internal/storage/postgrestest": {"internal/needs", "internal/testport"},
	"internal/storage/datamigration": {
		"internal/storage/store", "internal/storage/sqldb"},
	"internal/storage/storetest": {"internal/service/auth/names",
		"internal/audit", "internal/fault", "internal/storage/audits", "internal/storage/store",
		"internal/storage/identities", "internal/storage/incidents", "internal/storage/invitations", "internal/storage/partitions",
		"internal/storage/listdetails",
		"internal/storage/mutes", "internal/storage/postgrestest", "internal/storage/sqldb", "internal/storage/teams",
		"internal/storage/provisioned", "internal/storage/roles", "internal/storage/secondfactors",
		"internal/storage/tenants", "internal/storage/trusts", "secret"},
	"internal/process/childprocess": {},
	"internal/process/cputime":      {},
	"internal/service/fairqueue":    {"internal/fault"},
	"internal/service/filereader": {"definitions", "definitions/model", "internal/process/childprocess",
		"internal/process/cputime", "internal/fault"},
	"internal/service/hashing":             {"internal/process/childprocess"},
	"internal/service/hashing/hashingtest": {"internal/service/hashing"},
	"internal/service/sweep": {"internal/loop", "internal/storage/partitions", "internal/storage/sqldb",
		"internal/storage/store"},
	"internal/service/auth": {"internal/service/access",
		"internal/audit", "internal/service/auth/changehistory", "internal/service/auth/fingerprints",
		"internal/service/auth/names", "internal/service/membership", "internal/service/passwordpolicy",
		"internal/service/auth/passwordhash", "internal/service/auth/passwordrules", "internal/service/auth/randomkey",
		"internal/service/fairqueue", "internal/fault",
		"internal/service/hashing", "internal/service/perminute", "internal/service/throttle", "internal/storage/seal",
		"internal/storage/store", "internal/storage/secondfactors", "secret"},
	"internal/service/secondfactor": {"internal/audit", "internal/fault", "internal/service/access", "internal/service/auth",
		"internal/service/auth/passwordrules",
		"internal/storage/secondfactors", "internal/storage/store", "secret"},
	"internal/qrcode":             {},
	"internal/service/throttle":   {"internal/fault", "internal/storage/store"},
	"internal/service/perminute":  {},
	"internal/service/outbound":   {"egress"},
	"internal/service/trustrule":  {},
	"internal/service/access":     {},
	"internal/service/membership": {"internal/service/access", "internal/storage/store"},
	"internal/service/federation": {"egress", "internal/audit", "internal/fault", "internal/lazyregexp", "internal/service/access",
		"internal/service/auth",
		"internal/service/auth/names", "internal/service/auth/randomkey", "internal/service/membership", "internal/service/outbound",
		"internal/service/perminute", "internal/service/trustrule", "internal/service/wording", "internal/storage/identities",
		"internal/storage/store", "internal/storage/teams", "internal/storage/trusts", "secret"},
	"internal/storage/identities":         {"internal/storage/jsontext", "internal/storage/rows", "internal/storage/seal", "secret"},
	"internal/storage/teams":              {"internal/storage/rows", "internal/storage/sqldb"},
	"internal/storage/trusts":             {"internal/storage/jsontext", "internal/storage/rows"},
	"internal/service/reports":            {"internal/audit", "regcheck"},
	"internal/service/auth/changehistory": {"internal/storage/store"},
	"internal/service/auth/fingerprints":  {},
	"internal/service/auth/passwordhash":  {"internal/fault", "internal/service/hashing", "secret"},
	"internal/service/auth/randomkey":     {"secret"},
	"internal/service/auth/passwordrules": {"internal/fault", "internal/service/auth/names", "secret"},
	"internal/service/auditchain": {"internal/loop", "internal/audit", "internal/storage/auditbatch", "internal/storage/audits",
		"internal/storage/store"},
	"internal/web/budget": {"internal/service/auth", "internal/fault"},
	"internal/web/metrics": {"internal/fault", "internal/service/alerts", "internal/service/reports", "internal/service/watch",
		"internal/web/connlimit", "regcheck"},
	"internal/telemetry":       {"api", "internal/fault", "regcheck"},
	"internal/web/probe":       {"internal/fault", "internal/service/watch"},
	"internal/web/requestbody": {"internal/service/auth", "internal/fault", "internal/strictjson", "internal/web/budget"},
	"internal/service/directory": {"internal/audit", "internal/service/access",
		"internal/service/auth",
		"internal/service/auth/names", "internal/fault", "internal/service/membership", "internal/service/paging",
		"internal/service/passwordpolicy", "internal/service/roles", "internal/service/trustrule",
		"internal/storage/audits", "internal/service/auth/randomkey", "internal/storage/identities",
		"internal/storage/invitations", "internal/storage/provisioned", "internal/storage/store",
		"internal/storage/teams", "internal/storage/trusts", "secret"},
	"internal/service/invitations": {"internal/audit", "internal/service/alerts", "internal/service/auth", "internal/service/directory",
		"secret"},
	"internal/service/wording": {"egress", "regcheck"},
	"internal/cli/scanreport": {"internal/fixes", "definitions/model", "internal/lazyregexp", "internal/service/wording",
		"regcheck", "secret"},
	"internal/service/queue": {"internal/loop"},
	"internal/service/alerts": {"internal/loop", "egress", "internal/service/alertbodies", "internal/audit", "internal/service/access",
		"internal/service/auth", "internal/service/auth/names", "internal/service/perminute",
		"internal/fault", "internal/lazyregexp", "internal/service/outbound", "internal/service/wording", "internal/service/queue",
		"internal/storage/incidents", "internal/storage/mutes", "internal/storage/store", "secret"},
	"internal/service/registries": {"internal/loop", "internal/storage/listdetails",
		"internal/service/perminute",
		"definitions/model", "internal/audit", "internal/service/access",
		"internal/service/auth",
		"internal/service/auth/names", "internal/fault",
		"internal/service/paging", "internal/storage/seal", "internal/storage/store", "regcheck", "secret"},
	"internal/service/registries/registriestest": {
		"internal/audit",
		"internal/service/auth", "internal/storage/audits", "internal/storage/store", "internal/storage/postgrestest",
		"internal/storage/storetest",
		"regcheck", "secret"},
	"internal/service/ambient": {"internal/lazyregexp", "regcheck"},
	"internal/service/checks": {"internal/loop", "internal/service/ambient",
		"definitions/model", "internal/audit", "internal/service/access", "internal/service/auth", "internal/service/fairqueue",
		"internal/fault", "internal/service/filereader", "internal/service/perminute", "internal/service/registries",
		"internal/storage/store", "internal/service/reports", "regcheck"},
	"internal/service/mutes": {"internal/audit", "internal/fault", "internal/service/access", "internal/service/auth",
		"internal/storage/mutes", "internal/storage/store"},
	"internal/service/passwordpolicy": {"internal/fault", "secret"},
	"internal/storage/roles":          {"internal/storage/jsontext", "internal/storage/rows", "internal/storage/sqldb"},
	"internal/service/roles": {"internal/audit", "internal/fault", "internal/service/access", "internal/service/auth",
		"internal/service/auth/names",
		"internal/storage/roles", "internal/storage/store"},
	"internal/service/auth/names": {"internal/lazyregexp"},
	"internal/service/tenants": {"internal/audit", "internal/fault", "internal/service/access", "internal/service/auth",
		"internal/service/auth/names",
		"internal/service/passwordpolicy", "internal/storage/store", "internal/storage/tenants"},
	"internal/web/mutehandlers": {"api", "internal/audit", "internal/fault", "internal/service/auth", "internal/service/mutes",
		"internal/web/fieldnames"},
	"internal/service/expiries": {"internal/audit", "internal/fault", "internal/service/perminute", "secret",
		"internal/service/access", "internal/service/auth", "internal/service/paging",
		"internal/service/passwordpolicy", "internal/service/registries", "internal/storage/store"},
	"internal/service/bulk": {"internal/audit", "internal/fault", "internal/service/access", "internal/service/auth",
		"internal/service/auth/names",
		"internal/service/fairqueue", "internal/service/paging", "internal/service/registries", "internal/service/watch", "regcheck"},
	"internal/web/bulkhandlers": {"api", "internal/audit", "internal/service/auth", "internal/service/bulk",
		"internal/service/registries"},
	"internal/web/scim": {"api", "internal/fault", "internal/service/access", "internal/service/directory", "internal/strictjson",
		"internal/web/fieldnames", "internal/web/people"},
	"internal/web/expiryhandlers": {"api", "internal/icalendar", "internal/service/expiries", "internal/web/people",
		"secret"},
	"internal/icalendar": {"api"},
	"internal/cli/expiry": {"api", "internal/cli/command", "internal/cli/flagvalue", "internal/cli/manage", "internal/cli/output",
		"internal/icalendar"},
	"internal/service/watch": {"internal/loop", "internal/service/ambient", "internal/storage/mutes",
		"internal/service/alerts", "internal/audit", "internal/service/access", "internal/service/auth",
		"internal/service/auth/names", "internal/fault",
		"internal/service/queue", "internal/service/registries",
		"internal/storage/store", "internal/service/reports", "regcheck"},
	"internal/service/contentsync": {"internal/loop", "internal/service/ambient",
		"internal/audit", "internal/service/access", "internal/service/auth", "internal/fault", "internal/service/paging",
		"internal/service/queue", "internal/service/registries", "internal/storage/store",
		"regcheck", "regcheck/inventory"},
	"internal/web/connlimit": {},
	"internal/web/server": {"internal/service/invitations", "internal/web/bulkhandlers", "internal/web/expiryhandlers",
		"internal/web/mutehandlers",
		"api", "definitions", "definitions/model", "internal/service/alerts", "internal/audit",
		"internal/service/access",
		"internal/service/auth",
		"internal/service/auth/names",
		"internal/web/budget", "internal/service/checks", "internal/web/connlimit", "internal/service/contentsync",
		"internal/service/directory", "internal/service/federation",
		"internal/fault", "internal/service/paging", "internal/service/registries", "internal/spelling", "internal/strictjson",
		"internal/service/watch", "internal/service/reports", "internal/service/ambient",
		"internal/service/roles", "internal/service/secondfactor", "internal/service/tenants", "internal/service/wording",
		"internal/storage/identities",
		"internal/web/requestbody",
		"internal/web/fieldnames", "internal/web/scim", "internal/web/people", "internal/web/shapes",
		"regcheck", "secret",
		"internal/web/metrics"},
	"internal/web/fieldnames": {"internal/fault"},
	"internal/web/people": {"api", "internal/audit", "internal/fault", "internal/service/access", "internal/service/auth",
		"internal/service/auth/names",
		"internal/service/alerts",
		"internal/service/directory", "internal/service/federation", "internal/service/passwordpolicy", "internal/service/roles",
		"internal/service/secondfactor", "internal/service/tenants", "internal/service/invitations", "internal/storage/identities",
		"internal/web/fieldnames", "secret"},
	"internal/web/shapes": {"api", "internal/fault", "internal/service/contentsync", "internal/service/registries",
		"internal/service/watch", "regcheck"},
	"internal/cli/output": {"internal/csvtext", "internal/cli/command", "internal/cli/flagvalue", "internal/cli/scan",
		"regcheck/reporttext"},
	"internal/cli/logins": {"client", "internal/cli/command", "internal/process/filelock", "internal/storage/seal", "secret"},
	"internal/cli/manage": {"api", "client", "internal/cli/command", "internal/cli/logins", "internal/cli/output"},
	"internal/cli/access": {"api", "client", "internal/cli/command", "internal/cli/flagvalue", "internal/cli/logins", "internal/cli/manage",
		"internal/cli/output", "regcheck", "secret"},
	"internal/cli/account": {"api", "client", "internal/cli/command", "internal/cli/logins", "internal/cli/manage", "internal/cli/output",
		"internal/qrcode",
		"regcheck", "secret"},
	"internal/cli/alert": {"api", "client", "internal/cli/command", "internal/cli/flagvalue", "internal/cli/manage",
		"internal/cli/output", "internal/fault",
		"internal/service/alertbodies", "internal/strictjson", "secret"},
	"internal/cli/registry": {"internal/loop", "internal/labelchange",
		"api", "client", "definitions/model", "internal/cli/command", "internal/cli/flagvalue", "internal/cli/manage",
		"internal/cli/output", "internal/cli/scan", "internal/lazyregexp", "internal/service/auth/names", "regcheck", "secret"},
	"internal/cli/helptext":    {"internal/cli/command"},
	"internal/cli/hostiletest": {},
	"internal/cli/command": {"api", "definitions", "internal/fault", "internal/cli/flagvalue", "internal/lazyregexp",
		"internal/strictjson", "regcheck", "regcheck/reporttext", "secret"},
	"internal/csvtext":     {},
	"internal/labelchange": {},
	"internal/web/console/channelform": {"internal/fault", "internal/service/alertbodies", "internal/service/alerts",
		"internal/web/console/forms", "secret"},
	"internal/web/console": {"internal/fixes",
		"internal/service/invitations", "internal/csvtext", "internal/labelchange", "internal/web/console/channelform",
		"internal/service/bulk", "internal/service/expiries", "internal/service/mutes", "internal/service/roles",
		"internal/service/tenants",
		"internal/web/console/expirypage", "internal/web/console/overviewpage", "internal/web/console/people",
		"internal/web/console/registrylist",
		"internal/web/console/search",
		"api", "definitions", "definitions/model", "internal/service/alerts",
		"internal/audit", "internal/service/access",
		"internal/service/auth",
		"internal/service/auth/names", "internal/web/budget", "internal/service/checks", "internal/service/contentsync",
		"internal/service/directory", "internal/service/federation", "internal/fault", "internal/service/paging",
		"internal/service/registries",
		"internal/service/reports", "internal/service/watch", "internal/storage/store", "regcheck", "secret", "internal/web/console/forms",
		"internal/web/console/reference", "internal/web/console/views", "internal/web/console/words", "internal/web/requestbody",
		"internal/service/secondfactor", "internal/web/console/changelog", "internal/web/console/factorform"},
	"internal/web/console/changelog": {"internal/audit", "internal/service/alerts", "internal/service/auth", "internal/service/directory",
		"internal/service/registries", "internal/web/console/forms"},
	"internal/web/console/factorform": {"internal/qrcode", "internal/service/secondfactor", "internal/web/console/forms", "secret"},
	"internal/web/console/forms":      {"internal/fault", "internal/web/console/words", "regcheck", "secret"},
	"internal/web/console/reference":  {"internal/lazyregexp"},
	"internal/web/console/views": {"definitions/model",
		"internal/service/auth", "internal/service/paging", "internal/service/registries", "internal/service/watch",
		"internal/storage/store", "internal/web/console/forms", "internal/web/console/words", "regcheck"},
	"internal/web/console/people": {"internal/audit", "internal/fault", "internal/service/access", "internal/service/auth",
		"internal/service/directory", "internal/service/federation", "internal/service/invitations",
		"internal/service/paging", "internal/service/roles", "internal/service/trustrule",
		"internal/storage/identities", "internal/web/console/forms", "secret",
		"internal/service/secondfactor", "internal/web/console/factorform"},
	"internal/web/console/expirypage": {"api", "internal/service/access", "internal/service/auth", "internal/service/expiries",
		"internal/web/console/forms", "internal/web/console/people", "internal/web/console/views", "internal/web/console/words"},
	"internal/web/console/overviewpage": {"internal/service/access", "internal/service/alerts", "internal/service/auth",
		"internal/service/directory", "internal/service/registries", "internal/storage/store"},
	"internal/web/console/registrylist": {"internal/service/access", "internal/service/directory",
		"internal/service/auth", "internal/service/paging",
		"internal/service/registries", "internal/web/console/forms", "internal/web/console/views",
		"internal/web/console/words", "regcheck"},
	"internal/web/console/search": {"internal/service/access", "internal/service/auth", "internal/service/auth/names",
		"internal/service/directory", "internal/service/paging", "internal/service/registries", "internal/web/console/reference",
		"internal/web/console/views"},
	"internal/web/console/words": {"internal/fault"},
	"internal/cli/clusterread": {"definitions/model", "internal/fixes", "internal/kubernetes", "internal/service/auth",
		"internal/service/auth/names",
		"internal/service/cluster", "internal/service/registries", "internal/service/wording", "internal/storage/store", "regcheck"},
	"internal/service/cluster": {"internal/loop", "definitions", "definitions/model", "internal/fault", "internal/service/auth/names",
		"internal/service/registries", "internal/service/reports", "internal/storage/store", "regcheck"},
	"internal/service/clockmonitor":      {"internal/loop", "internal/clock", "internal/storage/store"},
	"internal/kubernetes":                {"internal/loop", "internal/service/cluster"},
	"internal/kubernetes/kubernetestest": {},
	"demo":                               {"api", "client", "regcheck", "regcheck/reporttext", "secret"},
	"cmd/regwarden":                      {"internal/cli", "internal/process/coredump"},
	"internal/cli": {"api", "definitions", "definitions/model", "egress", "internal/audit", "internal/cli/access",
		"internal/cli/account", "internal/cli/alert", "internal/cli/command", "internal/cli/expiry", "internal/cli/flagvalue",
		"internal/cli/helptext", "internal/cli/manage", "internal/cli/output", "internal/cli/registry", "internal/cli/scan",
		"internal/cli/scanreport", "internal/cli/serve", "internal/cli/settings", "internal/fault", "internal/service/access",
		"internal/service/auditchain", "internal/service/auth", "internal/service/checks", "internal/service/registries",
		"internal/service/wording", "internal/storage/datamigration", "internal/storage/seal", "internal/storage/sqldb",
		"internal/storage/store", "regcheck", "regcheck/reporttext", "secret"},
	"internal/cli/serve": {"internal/loop", "api", "egress", "internal/audit", "internal/cli/alert", "internal/cli/command",
		"internal/cli/flagvalue", "internal/cli/logins", "internal/cli/manage", "internal/cli/settings", "internal/clock",
		"internal/fault", "internal/service/alerts", "internal/service/ambient", "internal/service/auditchain",
		"internal/service/auth", "internal/service/bulk", "internal/service/checks", "internal/service/clockmonitor",
		"internal/service/contentsync", "internal/service/directory", "internal/service/expiries", "internal/service/federation",
		"internal/service/filereader", "internal/service/hashing", "internal/service/invitations", "internal/service/mutes",
		"internal/service/outbound", "internal/service/registries", "internal/service/roles", "internal/service/secondfactor",
		"internal/service/sweep", "internal/service/tenants", "internal/service/watch", "internal/service/wording",
		"internal/storage/seal", "internal/storage/sqldb", "internal/storage/store", "internal/telemetry",
		"internal/web/auxiliary", "internal/web/budget",
		"internal/web/bulkhandlers", "internal/web/console", "internal/web/console/people", "internal/web/expiryhandlers",
		"internal/web/metrics", "internal/web/mutehandlers", "internal/web/probe",
		"internal/web/server", "internal/web/servercert", "regcheck", "secret"},
	"internal/cli/settings": {"egress", "internal/cli/clusterread", "internal/cli/command", "internal/cli/flagvalue",
		"internal/cli/helptext", "internal/lazyregexp", "internal/process/program", "internal/service/alerts",
		"internal/service/ambient", "internal/storage/seal", "internal/storage/sqldb", "internal/storage/store", "secret"},
	"deploy/ociimage":   {},
	"internal/needs":    {},
	"internal/testport": {},
	"internal/archtest": {},
}

type pkg struct {
	Dir        string
	ImportPath string
	Doc        string
	Imports    []string
	GoFiles    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := listPackages()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var listPackages = sync.OnceValues(func() (all []pkg, err error) {
	out, err := exec.Command("go", "list", "-json", module+"/...").Output()
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

func TestImportsGoOneWay(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("package %s is not in mayImport; add it and describe it in docs/packages.md", name)
		}
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, "go.opentelemetry.io/") && name != "internal/telemetry" {
				t.Errorf("%s must not import %s", name, imported)
			}
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s must not import %s", name, ours)
			}
		}
		for _, ours := range allowed {
			if !slices.Contains(p.Imports, module+"/"+ours) {
				t.Errorf("%s does not import %s any more", name, ours)
			}
		}
	}
}

// Of Kubernetes' modules, one package uses what connects, watches and decodes. Typed clients, and what imports them, would make the binary
// 25 MB larger.
func TestTypedClientsOfKubernetesAreNotImported(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"/cmd/regwarden").Output()
	if err != nil {
		t.Fatal(err)
	}
	typed := regexp.MustCompile(`^k8s\.io/(api/|client-go/(kubernetes|informers|listers|discovery|dynamic/dynamicinformer))`)
	dynamic := false
	for name := range strings.FieldsSeq(string(out)) {
		if typed.MatchString(name) {
			t.Errorf("%s is imported", name)
		}
		dynamic = dynamic || name == "k8s.io/client-go/dynamic"
	}
	if !dynamic {
		t.Error("the dynamic client is not imported: this test shows nothing")
	}
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, "k8s.io/") && p.ImportPath != module+"/internal/kubernetes" {
				t.Errorf("%s must not import %s", p.ImportPath, imported)
			}
		}
	}
}

// The public packages do not name the service or its settings.
func TestPublicPackagesDoNotNameTheService(t *testing.T) {
	names := regexp.MustCompile(`regwarden|Regwarden|--egress-`)
	checked := 0
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if name != "egress" && name != "regcheck" && !strings.HasPrefix(name, "regcheck/") || name == "regcheck/regchecktest" {
			continue
		}
		checked++
		for _, file := range p.GoFiles {
			source, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if found := names.FindString(strings.ReplaceAll(string(source), module, "")); found != "" {
				t.Errorf("%s/%s names the service: %s", name, file, found)
			}
		}
	}
	if checked < 2 {
		t.Errorf("%d packages were checked", checked)
	}
}

// A package of the engine or the service that exceeds this limit has to be split. Test helpers may be larger.
func TestPackagesAreSmall(t *testing.T) {
	const maxLines = 4000
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if strings.HasSuffix(name, "test") {
			continue
		}
		lines := 0
		for _, file := range p.GoFiles {
			source, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(source, []byte("\n"))
		}
		if lines > maxLines {
			t.Errorf("package %s has %d lines, want at most %d", name, lines, maxLines)
		}
	}
}

func TestPackagesHaveDocComment(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) > 0 && len(p.Doc) < 40 {
			t.Errorf("package %s has no package comment", p.ImportPath)
		}
	}
}

// Only commands read the environment, so that all configuration is explicit.
func TestOnlyCommandsReadTheEnvironment(t *testing.T) {
	reads := regexp.MustCompile(`os\.(Getenv|LookupEnv|Environ)\(`)
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if name == "internal/cli" || strings.HasPrefix(name, "internal/cli/") || name == "internal/needs" { // the last is for tests
			continue
		}
		for _, name := range p.GoFiles {
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if reads.Match(source) {
				t.Errorf("%s/%s reads the environment", p.ImportPath, name)
			}
		}
	}
}
