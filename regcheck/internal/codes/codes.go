// Package codes has what can be wrong with a registry: codes, reasons and warnings with their sentences and hints, and the outcome of
// a stage: if it fails, one of them with what was seen.
package codes

import (
	"slices"

	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/source"
)

// Text is a text for any audience.
type Text = message.Text

// Code is the problem of a definition or of its registry. Codes are stable.
type Code string

// The codes, by stage.
const (
	CodeHostNotFound           Code = "RegistryHostNotFound"
	CodeAddressForbidden       Code = "RegistryAddressForbidden"
	CodeUnreachable            Code = "RegistryUnreachable"
	CodeTLSFailed              Code = "RegistryTLSFailed"
	CodeNotOCI                 Code = "RegistryNotOCI"
	CodeNotChartRepository     Code = "RegistryNotChartRepository"
	CodeUnavailable            Code = "RegistryUnavailable"
	CodeRedirected             Code = "RegistryRedirected"
	CodeAuthRequired           Code = "RegistryAuthRequired"
	CodeCredentialSourceFailed Code = "RegistryCredentialSourceFailed"
	CodeAuthFailed             Code = "RegistryAuthFailed"
	CodeTokenServiceFailed     Code = "RegistryTokenServiceFailed"
	CodeAccessDenied           Code = "RegistryAccessDenied"
	CodeContentNotFound        Code = "RegistryContentNotFound"
	CodeContentDamaged         Code = "RegistryContentDamaged"
)

// Stage names a step of a check.
type Stage string

// Stages in the order in which they run.
const (
	StageResolve Stage = "resolve"
	StageEgress  Stage = "egress"
	StageConnect Stage = "connect"
	StageTLS     Stage = "tls"
	StageAPI     Stage = "api"
	// StageCredentials is only in reports of definitions whose credentials are obtained.
	StageCredentials Stage = "credentials"

	StageAuth    Stage = "auth"
	StageContent Stage = "content"
)

// Reason distinguishes the cases of a code. Reasons are stable; most codes also occur without one.
type Reason string

// The reasons of CodeTLSFailed.
const (
	ReasonUnknownAuthority          Reason = "unknownAuthority"
	ReasonSelfSigned                Reason = "selfSigned"
	ReasonMissingIntermediate       Reason = "missingIntermediate"
	ReasonHostnameMismatch          Reason = "hostnameMismatch"
	ReasonExpired                   Reason = "expired" // of CodeAuthFailed too
	ReasonNotYetValid               Reason = "notYetValid"
	ReasonClientCertificateRequired Reason = "clientCertificateRequired"
	ReasonClientCertificateRejected Reason = "clientCertificateRejected"
	ReasonNotTLS                    Reason = "notTLS"
	ReasonProtocol                  Reason = "protocol"
	ReasonTimeout                   Reason = "timeout"
)

// The reasons of CodeNotOCI, and ReasonLoop of CodeRedirected.
const (
	ReasonHTML          Reason = "html"
	ReasonCatchAll      Reason = "catchAll"
	ReasonForeignJSON   Reason = "foreignJson"
	ReasonNotFound      Reason = "notFound"
	ReasonClassicHelm   Reason = "classicHelm"
	ReasonHTTPSRequired Reason = "httpsRequired"
	ReasonLoop          Reason = "loop"
)

// The reasons of CodeAuthFailed (with ReasonExpired), CodeTokenServiceFailed, CodeContentNotFound and CodeContentDamaged.
const (
	ReasonRefused           Reason = "refused"
	ReasonAnonymousWorks    Reason = "anonymousWorks"
	ReasonSchemeUnsupported Reason = "schemeUnsupported"
	ReasonNoChallenge       Reason = "noChallenge"

	ReasonRealmUnreachable Reason = "realmUnreachable"
	ReasonRealmTLS         Reason = "realmTls"
	ReasonRealmInsecure    Reason = "realmInsecure"
	ReasonRealmInvalid     Reason = "realmInvalid"
	ReasonRealmTimeout     Reason = "realmTimeout"
	ReasonBadTokenAnswer   Reason = "badTokenAnswer"
	ReasonTokenRejected    Reason = "tokenRejected"

	ReasonNameInvalid   Reason = "nameInvalid"
	ReasonTagUnknown    Reason = "tagUnknown"
	ReasonDigestUnknown Reason = "digestUnknown"

	ReasonBlobMissing     Reason = "blobMissing"
	ReasonBlobUnreachable Reason = "blobUnreachable"
	ReasonDigestMismatch  Reason = "digestMismatch"
	ReasonSizeMismatch    Reason = "sizeMismatch"
)

// The reasons of CodeNotChartRepository, with some of CodeNotOCI, and those of CodeContentNotFound, CodeContentDamaged and
// CodeAccessDenied that only chart repositories have.
const (
	ReasonOCIRegistry   Reason = "ociRegistry"
	ReasonIndexInvalid  Reason = "indexInvalid"
	ReasonIndexTooLarge Reason = "indexTooLarge"

	ReasonChartUnknown       Reason = "chartUnknown"
	ReasonVersionUnknown     Reason = "versionUnknown"
	ReasonArchiveMissing     Reason = "archiveMissing"
	ReasonArchiveUnreachable Reason = "archiveUnreachable"
	ReasonArchiveInvalid     Reason = "archiveInvalid"
	ReasonOtherHost          Reason = "otherHost"
)

// The reasons of CodeCredentialSourceFailed.
const (
	ReasonKeyUnknown          Reason = "keyUnknown"
	ReasonSecretWrong         Reason = "secretWrong"
	ReasonKeyExpired          Reason = "keyExpired"
	ReasonClockSkew           Reason = "clockSkew"
	ReasonNotAuthorized       Reason = "notAuthorized"
	ReasonRoleNotAssumed      Reason = "roleNotAssumed"
	ReasonProviderUnavailable Reason = "providerUnavailable"
	ReasonProviderUnreachable Reason = "providerUnreachable"
	ReasonProviderTLS         Reason = "providerTls"
	ReasonBadProviderResponse Reason = "badProviderResponse"
	ReasonAmbientNotAllowed   Reason = "ambientNotAllowed"
	ReasonIdentityMissing     Reason = "identityMissing"
	ReasonFileMissing         Reason = "fileMissing"
	ReasonIdentityToken       Reason = "identityTokenRejected"
	ReasonHelperMissing       Reason = "helperMissing"
	ReasonHelperFailed        Reason = "helperFailed"
)

// WarningCode names a warning. Warnings never change the result.
type WarningCode string

// The warnings.
const (
	WarnPlainHTTPCredentials         WarningCode = "plainHttpCredentials"
	WarnInsecureSkipVerify           WarningCode = "insecureSkipVerify"
	WarnCertificateExpiresSoon       WarningCode = "certificateExpiresSoon"
	WarnClientCertificateExpiresSoon WarningCode = "clientCertificateExpiresSoon"
	WarnRedirected                   WarningCode = "redirected"
	WarnCredentialsNotChecked        WarningCode = "credentialsNotChecked"
	WarnCredentialsExpireSoon        WarningCode = "credentialsExpireSoon"
	WarnAnonymousAccessNotProven     WarningCode = "anonymousAccessNotProven"
	WarnContentKindMismatch          WarningCode = "contentKindMismatch"
	WarnEmptyContent                 WarningCode = "emptyContent"
	WarnContentNotReadable           WarningCode = "contentNotReadable"
	WarnContentDamaged               WarningCode = "contentDamaged"
	WarnTLSSettingsIgnored           WarningCode = "tlsSettingsIgnored"
	WarnUnknownField                 WarningCode = "unknownField"
	WarnPullQuotaLow                 WarningCode = "pullQuotaLow"
	WarnChartNotReadable             WarningCode = "chartNotReadable"
	WarnChartDigestMismatch          WarningCode = "chartDigestMismatch"
)

// Entry describes a code, a code with a reason, or a warning. Hint, Field and Retryable are defaults: a report may have more
// specific ones.
type Entry struct {
	Code      Code
	Reason    Reason
	Warning   WarningCode // set alone, without Code and Reason
	Stages    []Stage
	Sentence  Text // what it means; a report adds details
	Hint      Text // what to do
	Field     string
	Retryable bool
}

// Entries returns the table of all codes, reasons and warnings, in the order of the documentation.
func Entries() []Entry { return slices.Concat(codeTable, sourceTable(), warningTable) }

func sourceTable() (table []Entry) {
	for _, x := range source.Explanations() {
		table = append(table, Entry{Code: CodeCredentialSourceFailed, Reason: Reason(x.Reason), Stages: inObtain, Field: x.Field,
			Sentence: x.Sentence, Hint: x.Hint, Retryable: x.Retry})
	}
	return table
}

// Lookup finds the row of a code and reason; a pair that is not in the table is a defect.
func Lookup(code Code, reason Reason) Entry {
	for _, e := range slices.Concat(codeTable, sourceTable()) {
		if e.Code == code && e.Reason == reason {
			return e
		}
	}
	panic("regcheck: no entry for " + string(code) + " " + string(reason))
}

// LookupWarning finds the row of a warning.
func LookupWarning(code WarningCode) Entry {
	for _, e := range warningTable {
		if e.Warning == code {
			return e
		}
	}
	panic("regcheck: no entry for warning " + string(code))
}
