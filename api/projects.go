package api

// Projects answers PathProjects and PathProjectNames.
type Projects struct {
	Items []Project `json:"items"`
}

// Project is one project. The shorter list leaves the time out.
type Project struct {
	Metadata Metadata `json:"metadata"`
}

// NewProject is the body that makes a project.
type NewProject struct {
	Metadata Named `json:"metadata"`
}
