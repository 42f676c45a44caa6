package api

// Projects is the response of PathProjects and PathProjectNames.
type Projects struct {
	Items []ListedProject `json:"items"`
}

// ListedProject is a project in a list. In PathProjectNames it has only uid and name.
type ListedProject struct {
	Metadata Metadata `json:"metadata"`
}

// Project is the response of PathProject.
type Project struct {
	Metadata Metadata      `json:"metadata"`
	Spec     ProjectSpec   `json:"spec"`
	Status   ProjectStatus `json:"status"`
}

// ProjectSpec has the alert channels of a project, by component. Other members that public clients know are not served.
type ProjectSpec struct {
	Alerts []Alert `json:"alerts"`
}

// ProjectStatus is the status of a project, which is never disabled.
type ProjectStatus struct {
	IsDisabled bool `json:"isDisabled"`
}

// ProjectRequest is the body that creates or changes a project.
type ProjectRequest struct {
	Metadata ProjectRequestMetadata `json:"metadata"`
}

// ProjectRequestMetadata is the part of the metadata that is stored. Public clients send more.
type ProjectRequestMetadata struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
	Labels      map[string]string `json:"labels"`
}

// Contents is the response of PathProjectContents and PathOrgContents: what a deletion with cascade ends as well.
type Contents struct {
	Items []ContentsOfKind `json:"items"`
}

// ContentsOfKind has names of what a project or an organization contains. More is true if there are others.
type ContentsOfKind struct {
	Kind  string   `json:"kind"`
	Names []string `json:"names"`
	More  bool     `json:"more"`
}
