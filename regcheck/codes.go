package regcheck

import "github.com/regwarden/regwarden/regcheck/internal/codes"

// Code is the problem of a definition or of its registry. Codes are stable.
type Code = codes.Code

// Reason distinguishes the cases of a code. Reasons are stable; most codes also occur without one.
type Reason = codes.Reason

// WarningCode names a warning. Warnings never change the result.
type WarningCode = codes.WarningCode

// Entry describes a code, a code with a reason, or a warning.
type Entry = codes.Entry

// Entries returns the table of all codes, reasons and warnings, in the order of the documentation.
func Entries() []Entry { return codes.Entries() }

// The codes, by stage.
const (
	CodeHostNotFound           = codes.CodeHostNotFound
	CodeAddressForbidden       = codes.CodeAddressForbidden
	CodeUnreachable            = codes.CodeUnreachable
	CodeTLSFailed              = codes.CodeTLSFailed
	CodeNotOCI                 = codes.CodeNotOCI
	CodeNotChartRepository     = codes.CodeNotChartRepository
	CodeUnavailable            = codes.CodeUnavailable
	CodeRedirected             = codes.CodeRedirected
	CodeAuthRequired           = codes.CodeAuthRequired
	CodeCredentialSourceFailed = codes.CodeCredentialSourceFailed
	CodeAuthFailed             = codes.CodeAuthFailed
	CodeTokenServiceFailed     = codes.CodeTokenServiceFailed
	CodeAccessDenied           = codes.CodeAccessDenied
	CodeContentNotFound        = codes.CodeContentNotFound
	CodeContentDamaged         = codes.CodeContentDamaged
)

// The reasons of CodeTLSFailed.
const (
	ReasonUnknownAuthority          = codes.ReasonUnknownAuthority
	ReasonSelfSigned                = codes.ReasonSelfSigned
	ReasonMissingIntermediate       = codes.ReasonMissingIntermediate
	ReasonHostnameMismatch          = codes.ReasonHostnameMismatch
	ReasonExpired                   = codes.ReasonExpired // of CodeAuthFailed too
	ReasonNotYetValid               = codes.ReasonNotYetValid
	ReasonClientCertificateRequired = codes.ReasonClientCertificateRequired
	ReasonClientCertificateRejected = codes.ReasonClientCertificateRejected
	ReasonNotTLS                    = codes.ReasonNotTLS
	ReasonProtocol                  = codes.ReasonProtocol
	ReasonTimeout                   = codes.ReasonTimeout
)

// The reasons of CodeNotOCI, and ReasonLoop of CodeRedirected.
const (
	ReasonHTML          = codes.ReasonHTML
	ReasonCatchAll      = codes.ReasonCatchAll
	ReasonForeignJSON   = codes.ReasonForeignJSON
	ReasonNotFound      = codes.ReasonNotFound
	ReasonClassicHelm   = codes.ReasonClassicHelm
	ReasonHTTPSRequired = codes.ReasonHTTPSRequired
	ReasonLoop          = codes.ReasonLoop
)

// The reasons of CodeAuthFailed (with ReasonExpired), CodeTokenServiceFailed, CodeContentNotFound and CodeContentDamaged.
const (
	ReasonRefused           = codes.ReasonRefused
	ReasonAnonymousWorks    = codes.ReasonAnonymousWorks
	ReasonSchemeUnsupported = codes.ReasonSchemeUnsupported
	ReasonNoChallenge       = codes.ReasonNoChallenge

	ReasonRealmUnreachable = codes.ReasonRealmUnreachable
	ReasonRealmTLS         = codes.ReasonRealmTLS
	ReasonRealmInsecure    = codes.ReasonRealmInsecure
	ReasonRealmInvalid     = codes.ReasonRealmInvalid
	ReasonRealmTimeout     = codes.ReasonRealmTimeout
	ReasonBadTokenAnswer   = codes.ReasonBadTokenAnswer
	ReasonTokenRejected    = codes.ReasonTokenRejected

	ReasonNameInvalid   = codes.ReasonNameInvalid
	ReasonTagUnknown    = codes.ReasonTagUnknown
	ReasonDigestUnknown = codes.ReasonDigestUnknown

	ReasonBlobMissing     = codes.ReasonBlobMissing
	ReasonBlobUnreachable = codes.ReasonBlobUnreachable
	ReasonDigestMismatch  = codes.ReasonDigestMismatch
	ReasonSizeMismatch    = codes.ReasonSizeMismatch
)

// The reasons of CodeNotChartRepository, with some of CodeNotOCI, and those of CodeContentNotFound, CodeContentDamaged and
// CodeAccessDenied that only chart repositories have.
const (
	ReasonOCIRegistry   = codes.ReasonOCIRegistry
	ReasonIndexInvalid  = codes.ReasonIndexInvalid
	ReasonIndexTooLarge = codes.ReasonIndexTooLarge

	ReasonChartUnknown       = codes.ReasonChartUnknown
	ReasonVersionUnknown     = codes.ReasonVersionUnknown
	ReasonArchiveMissing     = codes.ReasonArchiveMissing
	ReasonArchiveUnreachable = codes.ReasonArchiveUnreachable
	ReasonArchiveInvalid     = codes.ReasonArchiveInvalid
	ReasonOtherHost          = codes.ReasonOtherHost
)

// The reasons of CodeCredentialSourceFailed.
const (
	ReasonKeyUnknown          = codes.ReasonKeyUnknown
	ReasonSecretWrong         = codes.ReasonSecretWrong
	ReasonKeyExpired          = codes.ReasonKeyExpired
	ReasonClockSkew           = codes.ReasonClockSkew
	ReasonNotAuthorized       = codes.ReasonNotAuthorized
	ReasonRoleNotAssumed      = codes.ReasonRoleNotAssumed
	ReasonProviderUnavailable = codes.ReasonProviderUnavailable
	ReasonProviderUnreachable = codes.ReasonProviderUnreachable
	ReasonProviderTLS         = codes.ReasonProviderTLS
	ReasonBadProviderResponse = codes.ReasonBadProviderResponse
	ReasonAmbientNotAllowed   = codes.ReasonAmbientNotAllowed
	ReasonIdentityMissing     = codes.ReasonIdentityMissing
	ReasonFileMissing         = codes.ReasonFileMissing
	ReasonIdentityToken       = codes.ReasonIdentityToken
	ReasonHelperMissing       = codes.ReasonHelperMissing
	ReasonHelperFailed        = codes.ReasonHelperFailed
)

// The warnings.
const (
	WarnPlainHTTPCredentials         = codes.WarnPlainHTTPCredentials
	WarnInsecureSkipVerify           = codes.WarnInsecureSkipVerify
	WarnCertificateExpiresSoon       = codes.WarnCertificateExpiresSoon
	WarnClientCertificateExpiresSoon = codes.WarnClientCertificateExpiresSoon
	WarnRedirected                   = codes.WarnRedirected
	WarnCredentialsNotChecked        = codes.WarnCredentialsNotChecked
	WarnCredentialsExpireSoon        = codes.WarnCredentialsExpireSoon
	WarnAnonymousAccessNotProven     = codes.WarnAnonymousAccessNotProven
	WarnContentKindMismatch          = codes.WarnContentKindMismatch
	WarnEmptyContent                 = codes.WarnEmptyContent
	WarnContentNotReadable           = codes.WarnContentNotReadable
	WarnContentDamaged               = codes.WarnContentDamaged
	WarnTLSSettingsIgnored           = codes.WarnTLSSettingsIgnored
	WarnUnknownField                 = codes.WarnUnknownField
	WarnPullQuotaLow                 = codes.WarnPullQuotaLow
	WarnChartNotReadable             = codes.WarnChartNotReadable
	WarnChartDigestMismatch          = codes.WarnChartDigestMismatch
)
