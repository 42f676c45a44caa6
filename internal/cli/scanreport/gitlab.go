package scanreport

import (
	"encoding/json"
	"io"
)

// gitlabIssue is an entry of a code quality report. It has the members that GitLab reads.
type gitlabIssue struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

var gitlabSeverities = map[level]string{failure: "major", warning: "minor", note: "info"}

func writeGitLab(w io.Writer, s *scan, _ Options) error {
	issues := []gitlabIssue{}
	for _, is := range s.issues() {
		g := gitlabIssue{Description: is.message, CheckName: is.rule.id, Fingerprint: is.fingerprint, Severity: gitlabSeverities[is.level]}
		g.Location.Path, g.Location.Lines.Begin = is.at.File, max(is.at.Line, 1)
		issues = append(issues, g)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(issues)
}
