package source

import "github.com/regwarden/regwarden/regcheck/internal/message"

// Explanation is what a reason means in general, and what to do. A Refusal may have a more specific field and hint.
type Explanation struct {
	Reason         Reason
	Field          string
	Sentence, Hint message.Text
	Retry          bool
}

// Explanations returns that of each reason, in the order of the documentation.
func Explanations() []Explanation {
	return []Explanation{
		{Reason: KeyUnknown, Field: "auth",
			Sentence: "The provider of the credentials does not know the key, client or account.",
			Hint:     "Correct the id in the definition, or create the key again if it was deleted."},
		{Reason: SecretWrong, Field: "auth",
			Sentence: "The provider of the credentials knows the id, but the secret or private key does not match it.",
			Hint:     "Set the secret of this key; create a new one if it is lost."},
		{Reason: KeyExpired, Field: "auth",
			Sentence: "The key with which credentials are obtained has expired or was disabled.",
			Hint:     "Create a new key, and enable its account."},
		{Reason: ClockSkew,
			Sentence: "The provider of the credentials rejects the signature because of its time.",
			Hint:     "Correct the clock of the machine on which {program} runs. The definition is not the cause."},
		{Reason: NotAuthorized, Field: "auth",
			Sentence: "The identity may not obtain credentials for the registry.",
			Hint:     "Grant the identity the permission to pull."},
		{Reason: RoleNotAssumed, Field: "auth.aws.roleArn",
			Sentence: "The key may not assume the role.",
			Hint: "Allow the user of the key in the trust policy of the role, with the external id of the definition if it has one, " +
				"and sts:AssumeRole in its own policy. The role must exist."},
		{Reason: AmbientNotAllowed, Field: "auth",
			Sentence: "The definition asks for the identity of {program}, which it may not use.",
			Hint:     "Give a key in the definition, or ask the operator of {program} to allow its identity for this organization."},
		{Reason: IdentityMissing,
			Sentence: "The machine on which {program} runs has no identity at the cloud.",
			Hint:     "Attach a role or identity to the machine or pod, or give a key in the definition."},
		{Reason: FileMissing,
			Sentence: "A file that credentials are obtained with cannot be read.",
			Hint:     "Correct the path, and let the program that renews the file write it where {program} can read it."},
		{Reason: HelperMissing, Field: "auth.exec",
			Sentence: "The credential helper cannot be started.",
			Hint:     "Install the helper in a directory of PATH, or correct its name."},
		{Reason: HelperFailed, Field: "auth.exec",
			Sentence: "The credential helper gave no credentials.",
			Hint: "Log in with docker or the program that the helper belongs to, and try the helper with the server on its standard " +
				"input."},
		{Reason: TokenRejected,
			Sentence: "The provider of the credentials does not accept the token of the machine or pod.",
			Hint:     "Correct issuer, subject and audience in what the provider trusts, or the audience of the token."},
		{Reason: Unavailable, Retry: true,
			Sentence: "The provider of the credentials is temporarily unavailable.",
			Hint:     "Retry later. The definition may be valid."},
		{Reason: Unreachable, Retry: true,
			Sentence: "The provider of the credentials cannot be reached.",
			Hint:     "Allow connections from {program} to this host, in the firewall and the proxy."},
		{Reason: TLSFailed,
			Sentence: "The TLS connection to the provider of the credentials failed.",
			Hint: "Correct the proxy that intercepts the connection, or set {auth.tls.ca} to the PEM certificate of its " +
				"CA{enableTLS}."},
		{Reason: BadResponse,
			Sentence: "The response of the provider of the credentials is not one of its API.",
			Hint:     "Correct the proxy that responds in its place. If there is none, report this."},
	}
}
