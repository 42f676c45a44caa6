package api

import (
	"time"

	"github.com/regwarden/regwarden/secret"
)

// Values of AuthenticateResponse.MFAAction: what completes a login whose password was right.
const (
	MFAVerify = "verify" // PathMFAVerify with the code of the second factor
	MFAEnroll = "enroll" // PathMFAEnroll first: the organization requires a second factor, and the user has none
)

// MFACode is the body of PathMFAVerify and PathMyMFAConfirm. The code is that of the app, or except for PathMyMFAConfirm a recovery code.
type MFACode struct {
	Code secret.String `json:"code"`
}

// MFAPassword is the body of POST PathMyMFA.
type MFAPassword struct {
	CurrentPassword secret.String `json:"currentPassword"`
}

// MFAProof is the body of PathMyMFARemove and PathMyMFACodes.
type MFAProof struct {
	CurrentPassword secret.String `json:"currentPassword"`
	Code            secret.String `json:"code"`
}

// MFAEnrollment is the response of PathMFAEnroll and POST PathMyMFA: a second factor that an app has to get. Its texts are not masked,
// since the client needs them.
type MFAEnrollment struct {
	Secret string `json:"secret"` // base32
	URI    string `json:"uri"`    // otpauth:, with the secret; for a QR code
}

// MFARecoveryCodes is the response of PathMyMFAConfirm and PathMyMFACodes. Each code replaces that of the app once.
type MFARecoveryCodes struct {
	RecoveryCodes []string `json:"recoveryCodes"`
}

// MFAStatus is the response of GET PathMyMFA.
type MFAStatus struct {
	IsActive          bool      `json:"isActive"`
	IsRequired        bool      `json:"isRequired"` // by the organization
	ActiveSince       time.Time `json:"activeSince,omitzero"`
	RecoveryCodesLeft int64     `json:"recoveryCodesLeft"`
}

// TenantMFA is the response of GET PathTenantMFA: what an organization requires of users who log in with a password.
type TenantMFA struct {
	IsRequired bool `json:"isRequired"`
}

// TenantMFARequest is the body of PUT PathTenantMFA.
type TenantMFARequest struct {
	IsRequired *bool `json:"isRequired"`
}
