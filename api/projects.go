package api

// Projects is the response of PathProjects and PathProjectNames.
type Projects struct {
	Items []ListedProject `json:"items"`
}

// ListedProject is one project of a list. In PathProjectNames it has its uid and name only.
type ListedProject struct {
	Metadata Metadata `json:"metadata"`
}

// Project is the response of PathProject. The members of its spec that public clients know are not served.
type Project struct {
	Metadata Metadata      `json:"metadata"`
	Spec     struct{}      `json:"spec"`
	Status   ProjectStatus `json:"status"`
}

// ProjectStatus is the status of a project, which is never disabled.
type ProjectStatus struct {
	IsDisabled bool `json:"isDisabled"`
}

// ProjectRequest is the body that creates a project, or replaces what can be changed of one.
type ProjectRequest struct {
	Metadata ProjectRequestMetadata `json:"metadata"`
}

// ProjectRequestMetadata is the part of the metadata that is stored. Public clients send more.
type ProjectRequestMetadata struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
	Labels      map[string]string `json:"labels"`
}
