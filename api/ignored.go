package api

// IgnoredFields are fields that public clients send and that are ignored: a response does not name them as unknown. Those of an
// array's elements have empty brackets.
var IgnoredFields = []string{
	"apiVersion", "kind", "status", "component", "createdAt", "createdBy", "unconfirmed",
	"metadata.uid", "metadata.annotations", "metadata.labels",
	"metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.lastModifiedTimestamp",
	"channels[].status", "channels[].unconfirmed", "channels[].createdAt", "channels[].createdBy",
	"spec",         // of ProjectRequest
	"sort",         // of UserSummaryRequest
	"spec.roles",   // of UserUpdate; PathUserRoles changes them
	"spec.sources", // of TeamRequest

	// Of ECRCredentials: they follow from the endpoint and the role, or belong to other uses of a cloud account.
	"spec.credentials.policyARNs", "spec.credentials.partition", "spec.credentials.secretToken", "spec.credentials.secretSpec",
	"credentials.policyARNs", "credentials.partition", "credentials.secretToken", "credentials.secretSpec",
}
