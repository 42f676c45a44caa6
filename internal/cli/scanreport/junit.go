package scanreport

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
)

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	junitCounts
	Suites []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Cases []junitCase `xml:"testcase"`
}

type junitCounts struct {
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	File    string        `xml:"file,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitOutcome `xml:"failure"`
	Error   *junitOutcome `xml:"error"`
	Skipped *junitOutcome `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitOutcome struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes a test case for each place. encoding/xml replaces the characters that XML 1.0 does not have.
func writeJUnit(w io.Writer, s *scan, _ Options) error {
	suite := junitSuite{Name: "regwarden scan"}
	var total time.Duration
	names := unique{}
	for i := range s.entries {
		e := &s.entries[i]
		for n, at := range e.places {
			duration := time.Duration(0)
			if n == 0 && e.report != nil { // one check is for all places
				duration = e.report.Duration
			}
			total += duration
			suite.add(e, at, names, seconds(duration))
		}
	}
	suite.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(junitSuites{junitCounts: suite.junitCounts, Suites: []junitSuite{suite}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(e *entry, at model.Source, names unique, duration string) {
	file := shown(at.File)
	c := junitCase{Class: file, File: file, Time: duration, Out: e.details(at)}
	c.Name = strings.TrimPrefix(names.next(file+"\x00"+e.where(at)), file+"\x00")
	o := &junitOutcome{Message: e.message, Type: e.rule.id, Text: e.advice()}
	s.Tests++
	switch e.outcome {
	case notValid, problem:
		c.Failure = o
		s.Failures++
	case notChecked:
		c.Error = o
		s.Errors++
	case unresolved, skipped, listed:
		c.Skipped = &junitOutcome{Message: e.rule.id + ": " + e.message}
		s.Skipped++
	case valid:
	}
	s.Cases = append(s.Cases, c)
}

// details are the line and the remarks of a test case.
func (e *entry) details(at model.Source) string {
	var lines []string
	if at.Line > 0 {
		lines = append(lines, shown(at.File)+":"+strconv.Itoa(at.Line))
	}
	for _, r := range e.remarks {
		lines = append(lines, r.rule.id+": "+r.message)
	}
	return strings.Join(lines, "\n")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
