package scanreport

import (
	"encoding/json"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
)

const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string     `json:"id"`
	Name             string     `json:"name"`
	ShortDescription sarifText  `json:"shortDescription"`
	Help             *sarifText `json:"help,omitempty"`
	HelpURI          string     `json:"helpUri"`
}

type sarifText struct {
	Text string `json:"text"`
}

// sarifInvocation has what was skipped as notifications: it is for people, and not a result.
type sarifInvocation struct {
	ExecutionSuccessful bool                `json:"executionSuccessful"`
	Notifications       []sarifNotification `json:"toolExecutionNotifications"`
}

type sarifNotification struct {
	Descriptor struct {
		ID string `json:"id"`
	} `json:"descriptor"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
}

type sarifLocation struct {
	Physical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   struct {
			StartLine int `json:"startLine"`
		} `json:"region"`
	} `json:"physicalLocation"`
	Logical []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifArtifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId,omitempty"`
}

type sarifLogical struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

var sarifLevels = map[level]string{failure: "error", warning: "warning", note: "note"}

func writeSARIF(w io.Writer, s *scan, o Options) error {
	run := sarifRun{
		Invocations: []sarifInvocation{{ExecutionSuccessful: true, Notifications: []sarifNotification{}}},
		Results:     []sarifResult{},
	}
	run.Tool.Driver = sarifDriver{Name: "regwarden", Version: o.Version, InformationURI: home, Rules: []sarifRule{}}
	for _, is := range s.issues() {
		run.Results = append(run.Results, sarifResult{
			RuleID: is.rule.id, RuleIndex: run.ruleIndex(is.rule), Level: sarifLevels[is.level], Message: sarifMessage(is.message),
			Locations: []sarifLocation{sarifLocate(is.at)}, Fingerprints: map[string]string{"regwarden/v1": is.fingerprint},
		})
	}
	for i := range s.entries {
		if e := &s.entries[i]; e.outcome == skipped {
			run.notify(e, e.places[0])
		}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

func (run *sarifRun) notify(e *entry, at model.Source) {
	n := sarifNotification{Level: "note", Message: sarifMessage(e.message), Locations: []sarifLocation{sarifLocate(at)}}
	n.Descriptor.ID = e.rule.id
	run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, n)
}

func (run *sarifRun) ruleIndex(r rule) int {
	driver := &run.Tool.Driver
	i := slices.IndexFunc(driver.Rules, func(known sarifRule) bool { return known.ID == r.id })
	if i >= 0 {
		return i
	}
	described := sarifRule{ID: r.id, Name: r.name, ShortDescription: sarifText{r.sentence}, HelpURI: r.page}
	if r.fix != "" {
		described.Help = &sarifText{r.sentence + " " + r.fix}
	}
	driver.Rules = append(driver.Rules, described)
	return len(driver.Rules) - 1
}

// sarifMessage returns a text that viewers show as it is: "](" would end the text of a link (SARIF 3.11.6).
func sarifMessage(text string) sarifText { return sarifText{strings.ReplaceAll(text, "](", "] (")} }

func sarifLocate(at model.Source) (l sarifLocation) {
	l.Physical.Artifact = sarifURI(at.File)
	l.Physical.Region.StartLine = max(at.Line, 1) // viewers need one
	if at.Object != "" {
		l.Logical = []sarifLogical{{shown(at.Object), "object"}}
	}
	return l
}

// sarifURI returns the name of a file as a URI. It is relative to the root of the sources unless the name is absolute.
func sarifURI(file string) sarifArtifact {
	segments := strings.Split(file, "/")
	for i, s := range segments {
		segments[i] = strings.ReplaceAll(url.PathEscape(s), ":", "%3A") // a first segment with a colon would be a scheme
	}
	uri := strings.Join(segments, "/")
	if path.IsAbs(file) {
		return sarifArtifact{URI: "file://" + uri}
	}
	return sarifArtifact{URI: uri, Base: "%SRCROOT%"}
}
