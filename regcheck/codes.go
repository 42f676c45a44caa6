package regcheck

import "slices"

// Code is the problem of a definition or of its registry. Codes are stable.
type Code string

// The codes, by stage.
const (
	CodeHostNotFound       Code = "RegistryHostNotFound"
	CodeAddressForbidden   Code = "RegistryAddressForbidden"
	CodeUnreachable        Code = "RegistryUnreachable"
	CodeTLSFailed          Code = "RegistryTLSFailed"
	CodeNotOCI             Code = "RegistryNotOCI"
	CodeUnavailable        Code = "RegistryUnavailable"
	CodeRedirected         Code = "RegistryRedirected"
	CodeAuthRequired       Code = "RegistryAuthRequired"
	CodeAuthFailed         Code = "RegistryAuthFailed"
	CodeTokenServiceFailed Code = "RegistryTokenServiceFailed"
	CodeAccessDenied       Code = "RegistryAccessDenied"
	CodeContentNotFound    Code = "RegistryContentNotFound"
	CodeContentDamaged     Code = "RegistryContentDamaged"
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

// WarningCode names a warning. Warnings never change the result.
type WarningCode string

// The warnings.
const (
	WarnPlainHTTPCredentials     WarningCode = "plainHttpCredentials"
	WarnInsecureSkipVerify       WarningCode = "insecureSkipVerify"
	WarnCertificateExpiresSoon   WarningCode = "certificateExpiresSoon"
	WarnRedirected               WarningCode = "redirected"
	WarnCredentialsNotChecked    WarningCode = "credentialsNotChecked"
	WarnCredentialsExpireSoon    WarningCode = "credentialsExpireSoon"
	WarnAnonymousAccessNotProven WarningCode = "anonymousAccessNotProven"
	WarnContentKindMismatch      WarningCode = "contentKindMismatch"
	WarnEmptyContent             WarningCode = "emptyContent"
	WarnContentNotReadable       WarningCode = "contentNotReadable"
	WarnContentDamaged           WarningCode = "contentDamaged"
	WarnTLSSettingsIgnored       WarningCode = "tlsSettingsIgnored"
	WarnUnknownField             WarningCode = "unknownField"
	WarnPullQuotaLow             WarningCode = "pullQuotaLow"
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
func Entries() []Entry { return slices.Concat(codeTable, warningTable) }

// lookup finds the row of a code and reason; a pair that is not in the table is a defect.
func lookup(code Code, reason Reason) Entry {
	for _, e := range codeTable {
		if e.Code == code && e.Reason == reason {
			return e
		}
	}
	panic("regcheck: no entry for " + string(code) + " " + string(reason))
}

func lookupWarning(code WarningCode) Entry {
	for _, e := range warningTable {
		if e.Warning == code {
			return e
		}
	}
	panic("regcheck: no entry for warning " + string(code))
}
