// Package prompt makes prompts from the templates of a team, which its host may replace
// one by one. Text of agents and users reaches a template only through the function data,
// which delimits it so that it cannot pass for instructions.
package prompt

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/convene-go/convene/internal/text"
)

// Set has the templates of a team. New makes one; the zero Set is not usable.
type Set struct{ templates *template.Template }

// Source says where templates come from.
type Source struct {
	Own  fs.FS // templates of the team, in its root or in a folder prompts: each file that Samples names
	Host fs.FS // templates of the host, which replace the team's of the same names; nil: none

	// Samples has values for each template, by file name. New fills the template with each
	// of them, so that a wrong field shows early.
	Samples map[string][]any

	Quote int              // limit in bytes of a text that data quotes; 0: none
	Funcs template.FuncMap // functions of the templates beside data and inc; nil: none
}

// New reads the templates that Samples names. One error has all faults and names the
// files. A file of the host that Samples does not name is a fault.
func New(s Source) (Set, error) {
	if _, err := fs.Stat(s.Own, "prompts"); err == nil {
		s.Own, _ = fs.Sub(s.Own, "prompts")
	}
	root := template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"data": func(label, body string) string { return Delimit(label, body, s.Quote) },
		"inc":  func(i int) int { return i + 1 },
	}).Funcs(s.Funcs)
	set := Set{root}
	var errs []error
	names := slices.Sorted(maps.Keys(s.Samples))
	if err := s.unknown(names); err != nil {
		errs = append(errs, err)
	}
	for _, name := range names {
		body, err := s.read(name)
		if err == nil {
			_, err = root.New(name).Parse(body)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("prompts: %w", err))
		}
	}
	for _, name := range names {
		for _, sample := range s.Samples[name] {
			if root.Lookup(name) == nil {
				break // the fault of its text is in errs
			}
			if _, err := set.Fill(name, sample); err != nil {
				errs = append(errs, fmt.Errorf("prompts: %w", err))
				break
			}
		}
	}
	return set, errors.Join(errs...)
}

// unknown returns an error for each file of the host that is no template of the team.
func (s Source) unknown(names []string) error {
	if s.Host == nil {
		return nil
	}
	var errs []error
	err := fs.WalkDir(s.Host, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !slices.Contains(names, name) {
			errs = append(errs, fmt.Errorf("prompts: %s is no template of the team, want one of %s", name, strings.Join(names, ", ")))
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("prompts: %w", err)
	}
	return errors.Join(append(errs, err)...)
}

// read returns the host's template of that name, else the team's.
func (s Source) read(name string) (string, error) {
	if s.Host != nil {
		body, err := fs.ReadFile(s.Host, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return string(body), err
		}
	}
	body, err := fs.ReadFile(s.Own, name)
	return string(body), err
}

// Fill executes a template with values, and trims space around the result. It is safe for
// concurrent use.
func (s Set) Fill(name string, values any) (string, error) {
	var b strings.Builder
	if err := s.templates.ExecuteTemplate(&b, name, values); err != nil {
		return "", fmt.Errorf("fill prompt: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// Delimit returns body as data with a label, cut to limit bytes (0: whole). Neither of them
// can end the quotation, whatever it has.
func Delimit(label, body string, limit int) string {
	return text.Delimit("data", fmt.Sprintf(" name=%q", unquoted.Replace(label)), text.Cut(body, limit))
}

// unquoted replaces what could end a label.
var unquoted = strings.NewReplacer("\"", "'", "<", "(", ">", ")", "\n", " ", "\r", " ")

// OneLine returns a text in one line, with single spaces.
func OneLine(s string) string { return text.OneLine(s) }
