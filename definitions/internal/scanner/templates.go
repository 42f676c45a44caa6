package scanner

import (
	"fmt"
	"path"

	"github.com/regwarden/regwarden/definitions/model"
)

// templates are the files of a directory that are templates.
type templates struct {
	first   model.Source
	message string // for the first alone
	last    string // name of the file, which may have several objects
	count   int
}

// Template skips the file, which is a template. Directories of charts have many, so that those of a walk become one entry.
func (f *File) Template(line int, message string) {
	s := f.Scanner
	if !f.found {
		s.Skip(f.At(line, ""), model.SkipTemplate, "%s", message)
		return
	}
	directory := path.Dir(f.Name)
	if s.templates == nil {
		s.templates = map[string]*templates{}
	}
	known := s.templates[directory]
	if known == nil {
		known = &templates{first: f.At(line, ""), message: message}
		s.templates[directory] = known
		s.templateDirectories = append(s.templateDirectories, directory)
	}
	if known.last != f.Name {
		known.last = f.Name
		known.count++
	}
}

// addTemplates adds an entry for each directory with templates.
func (s *Scanner) addTemplates() {
	for _, directory := range s.templateDirectories {
		known := s.templates[directory]
		if known.count == 1 {
			s.Skip(known.first, model.SkipTemplate, "%s", known.message)
			continue
		}
		s.Skip(model.Source{File: directory + "/"}, model.SkipTemplate, "%s", fmt.Sprintf(
			"%d files are templates, such as %s. Scan what is rendered from them, such as the output of helm template or kustomize build.",
			known.count, Short(path.Base(known.first.File))))
	}
	s.templates, s.templateDirectories = nil, nil
}
