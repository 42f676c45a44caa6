package model

// UnresolvedReason is why a definition is not complete.
type UnresolvedReason string

// SkipReason is why something is not a registry definition to check.
type SkipReason string

// ProblemReason is why something cannot be read.
type ProblemReason string

// NoticeCode is what the user should know about a definition.
type NoticeCode string

// Reasons for unresolved definitions.
const (
	UnresolvedAmbiguous         UnresolvedReason = "ambiguous"
	UnresolvedCloudIdentity     UnresolvedReason = "cloudIdentity"
	UnresolvedConfigFile        UnresolvedReason = "configFile"
	UnresolvedCredentialHelper  UnresolvedReason = "credentialHelper"
	UnresolvedCredentialsStore  UnresolvedReason = "credentialsStore"
	UnresolvedEncrypted         UnresolvedReason = "encrypted"
	UnresolvedIncomplete        UnresolvedReason = "incomplete"
	UnresolvedMasked            UnresolvedReason = "masked"
	UnresolvedNoMatchingEntry   UnresolvedReason = "noMatchingEntry"
	UnresolvedReferenceMissing  UnresolvedReason = "referenceMissing"
	UnresolvedTemplate          UnresolvedReason = "template"
	UnresolvedUnknownUntilApply UnresolvedReason = "unknownUntilApply"
)

// Reasons for skipped entries.
const (
	SkipAlias             SkipReason = "alias"
	SkipAliasOnly         SkipReason = "aliasOnly"
	SkipBlocked           SkipReason = "blocked"
	SkipClassicHelm       SkipReason = "classicHelm"
	SkipCloudAPI          SkipReason = "cloudApi"
	SkipEmptyEntry        SkipReason = "emptyEntry"
	SkipEncrypted         SkipReason = "encrypted"
	SkipGit               SkipReason = "git"
	SkipLocal             SkipReason = "local"
	SkipLocalAction       SkipReason = "localAction"
	SkipMarker            SkipReason = "marker"
	SkipNoHost            SkipReason = "noHost"
	SkipNotARegistry      SkipReason = "notARegistry"
	SkipNotOCI            SkipReason = "notOci"
	SkipPlaceholder       SkipReason = "placeholder"
	SkipShadowed          SkipReason = "shadowed"
	SkipTemplate          SkipReason = "template"
	SkipUnsupportedScheme SkipReason = "unsupportedScheme"
	SkipWildcard          SkipReason = "wildcard"
)

// Reasons for problems.
const (
	ProblemAuthMissing        ProblemReason = "authMissing"
	ProblemConflictingEntries ProblemReason = "conflictingEntries"
	ProblemInvalidBase64      ProblemReason = "invalidBase64"
	ProblemNoHost             ProblemReason = "noHost"
	ProblemNoPassword         ProblemReason = "noPassword"
	ProblemNoUser             ProblemReason = "noUser"
	ProblemNotJSON            ProblemReason = "notJSON"
	ProblemNotTOML            ProblemReason = "notTOML"
	ProblemNotYAML            ProblemReason = "notYAML"
	ProblemPlaceholder        ProblemReason = "placeholder"
	ProblemProgram            ProblemReason = "program"
	ProblemUnknownCapability  ProblemReason = "unknownCapability"
	ProblemWrongShape         ProblemReason = "wrongShape"
)

// Notices.
const (
	NoticeAmbientCredentials    NoticeCode = "ambientCredentials"
	NoticeAmbiguousCredentials  NoticeCode = "ambiguousCredentials"
	NoticeConflictingEntries    NoticeCode = "conflictingEntries"
	NoticeDeprecatedKeys        NoticeCode = "deprecatedKeys"
	NoticeIgnoredField          NoticeCode = "ignoredField"
	NoticeInsecureSkipVerify    NoticeCode = "insecureSkipVerify"
	NoticeNoMatchingCredentials NoticeCode = "noMatchingCredentials"
	NoticeNotUsedByConsumer     NoticeCode = "notUsedByConsumer"
	NoticeOnlyFromTheCluster    NoticeCode = "onlyFromTheCluster"
	NoticeOnlyFromTheNode       NoticeCode = "onlyFromTheNode"
	NoticeOverridePath          NoticeCode = "overridePath"
	NoticePlaceholderValue      NoticeCode = "placeholderValue"
	NoticePlainHTTP             NoticeCode = "plainHttp"
	NoticePlainHTTPFallback     NoticeCode = "plainHttpFallback"
	NoticePrefixWithoutBoundary NoticeCode = "prefixWithoutBoundary"
	NoticeSchemeInKeyIgnored    NoticeCode = "schemeInKeyIgnored"
	NoticeSecretInRepository    NoticeCode = "secretInRepository"
	NoticeShadowedCredentials   NoticeCode = "shadowedCredentials"
	NoticeShortLivedCredentials NoticeCode = "shortLivedCredentials"
	NoticeSuspended             NoticeCode = "suspended"
	NoticeTypeMissing           NoticeCode = "typeMissing"
	NoticeWhitespaceInSecret    NoticeCode = "whitespaceInSecret"
)

// WordList is one of the closed lists of words in a Result.
type WordList struct {
	Title string
	Words []Word
}

// Word is one word of a list and its meaning. Words are stable.
type Word struct{ Word, Meaning string }

// WordLists returns all words that a Result can have, in the order of the documentation.
func WordLists() []WordList { return wordLists }

var wordLists = []WordList{
	{"Reasons for unresolved definitions", []Word{
		{string(UnresolvedAmbiguous), "The consumer uses one of several credentials, by chance."},
		{string(UnresolvedCloudIdentity), "The consumer uses the identity of the machine at a cloud provider."},
		{string(UnresolvedConfigFile), "The credentials are in a file that was not read."},
		{string(UnresolvedCredentialHelper), "A credential helper has the credentials."},
		{string(UnresolvedCredentialsStore), "The credentials store of the system has the credentials."},
		{string(UnresolvedEncrypted), "The credentials are encrypted."},
		{string(UnresolvedIncomplete), "A part of the credentials is missing."},
		{string(UnresolvedMasked), "The credentials are masked."},
		{string(UnresolvedNoMatchingEntry), "No entry of the credentials is for this registry."},
		{string(UnresolvedReferenceMissing), "The object with the credentials was not read."},
		{string(UnresolvedTemplate), "The value is a template or an expression."},
		{string(UnresolvedUnknownUntilApply), "Terraform knows the value only after apply."},
	}},
	{"Reasons for skipped entries", []Word{
		{string(SkipAlias), "The repository is an alias, which another file defines."},
		{string(SkipAliasOnly), "The entry only renames a registry."},
		{string(SkipBlocked), "The consumer is configured not to use the registry."},
		{string(SkipClassicHelm), "A classic Helm repository whose whole address is not in the entry."},
		{string(SkipCloudAPI), "The entry is for the API of a cloud provider."},
		{string(SkipEmptyEntry), "The entry is empty; a credential helper left it."},
		{string(SkipEncrypted), "The file or object is encrypted."},
		{string(SkipGit), "The entry is a Git repository."},
		{string(SkipLocal), "The entry is a path in the file system."},
		{string(SkipLocalAction), "The workflow calls an action of its own repository."},
		{string(SkipMarker), "The entry marks a login and has no registry."},
		{string(SkipNoHost), "The entry has no host."},
		{string(SkipNotARegistry), "The entry is not for a registry."},
		{string(SkipNotOCI), "The entry is not for an OCI registry."},
		{string(SkipPlaceholder), "The value is a placeholder of an example."},
		{string(SkipShadowed), "Another entry takes precedence; the consumer never uses this one."},
		{string(SkipTemplate), "The address is a template or an expression."},
		{string(SkipUnsupportedScheme), "No registry is reached with this scheme."},
		{string(SkipWildcard), "The entry matches several registries by a wildcard."},
	}},
	{"Reasons for problems", []Word{
		{string(ProblemAuthMissing), "The entry has no credentials where its type requires them."},
		{string(ProblemConflictingEntries), "Two entries contradict each other, and the consumer rejects the file."},
		{string(ProblemInvalidBase64), "A value is not valid base64."},
		{string(ProblemNoHost), "The address has no host."},
		{string(ProblemNoPassword), "The credentials have no password."},
		{string(ProblemNoUser), "The credentials have no username."},
		{string(ProblemNotJSON), "The file is not valid JSON."},
		{string(ProblemNotTOML), "The file is not valid TOML."},
		{string(ProblemNotYAML), "The file is not valid YAML."},
		{string(ProblemPlaceholder), "A placeholder is where a value is required."},
		{string(ProblemProgram), "The file is a program, which is not run."},
		{string(ProblemUnknownCapability), "A host has a capability that containerd does not know."},
		{string(ProblemWrongShape), "A value has the wrong type, or the file exceeds a limit."},
	}},
	{"Notices", []Word{
		{string(NoticeAmbientCredentials), "The check uses credentials of the environment instead of the identity of the consumer."},
		{string(NoticeAmbiguousCredentials), "Several credentials match; the consumer may use another."},
		{string(NoticeConflictingEntries), "Two entries contradict each other."},
		{string(NoticeDeprecatedKeys), "The keys are deprecated."},
		{string(NoticeIgnoredField), "The consumer ignores a field."},
		{string(NoticeInsecureSkipVerify), "The certificate of the registry is not verified."},
		{string(NoticeNoMatchingCredentials), "No credentials match; the consumer connects without any."},
		{string(NoticeNotUsedByConsumer), "The consumer does not use the entry."},
		{string(NoticeOnlyFromTheCluster), "The address works only within the cluster."},
		{string(NoticeOnlyFromTheNode), "The address works only on a node of the cluster."},
		{string(NoticeOverridePath), "The path replaces /v2 of the API."},
		{string(NoticePlaceholderValue), "The value looks like a placeholder."},
		{string(NoticePlainHTTP), "The consumer connects without TLS."},
		{string(NoticePlainHTTPFallback), "The consumer connects without TLS if TLS fails."},
		{string(NoticePrefixWithoutBoundary), "The URL is a bare prefix and matches other hosts too."},
		{string(NoticeSchemeInKeyIgnored), "The consumer ignores the scheme of the key."},
		{string(NoticeSecretInRepository), "A secret is stored in a file of a repository."},
		{string(NoticeShadowedCredentials), "Other credentials take precedence over these."},
		{string(NoticeShortLivedCredentials), "The credentials are valid for a short time only."},
		{string(NoticeSuspended), "The object is suspended."},
		{string(NoticeTypeMissing), "The object needs its type to be used as an OCI registry."},
		{string(NoticeWhitespaceInSecret), "The secret begins or ends with white space."},
	}},
}
