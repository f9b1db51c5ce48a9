package hierarchy

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"
)

//go:embed prompts/*.tmpl
var ownPrompts embed.FS

// What the templates are filled with, as the package comment says. They put texts of
// agents through the function data, which delimits them.
type (
	briefPrompt struct {
		Request string
		Needs   []Report
	}
	retryPrompt struct {
		Request  string
		Attempt  int    // that is asked for, from 1
		Previous string // output of the attempt before; "": none
		Feedback string // of all attempts so far, a line each
	}
	gradePrompt struct {
		Department Department
		Agent      Agent
		Request    string
		Output     string
	}
	synthesisPrompt struct {
		Department Department
		Request    string
		Results    []SpecialistResult
		Note       string // of the resolver
	}
	refinePrompt struct {
		Department   Department
		Request      string
		Draft        string
		Round, Total int
	}
	resolvePrompt struct {
		Department Department
		Request    string
		Results    []SpecialistResult
	}
	masterPrompt struct {
		Request string
		Reports []Report
	}
	checkPrompt struct{ Reports []Report }
)

// samples fill every template at New, with everything and with as little as there
// may be, so that a wrong field shows there.
func samples() map[string][]any {
	agent := Agent{Specialization: "s"}
	results := []SpecialistResult{{AgentName: "a"}, {AgentName: "b", Specialization: "s"}}
	reports := []Report{{DepartmentName: "d"}}
	return map[string][]any{
		"brief.tmpl":     {briefPrompt{Needs: reports}},
		"retry.tmpl":     {retryPrompt{Previous: "p", Feedback: "f"}, retryPrompt{}},
		"grade.tmpl":     {gradePrompt{Agent: agent}, gradePrompt{}},
		"synthesis.tmpl": {synthesisPrompt{Results: results, Note: "n"}, synthesisPrompt{Results: results}},
		"refine.tmpl":    {refinePrompt{}},
		"resolve.tmpl":   {resolvePrompt{Results: results}},
		"master.tmpl":    {masterPrompt{Reports: reports}},
		"check.tmpl":     {checkPrompt{reports}},
	}
}

// prompts are the parsed templates.
type prompts struct{ templates *template.Template }

// newPrompts reads the prompts of host, and the package's where host has none. All
// faults are in the one error.
func newPrompts(host fs.FS, quoteBytes int) (prompts, error) {
	root := template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"data":   func(label, text string) string { return delimit(label, text, quoteBytes) },
		"text":   Text,
		"number": number,
		"inc":    func(i int) int { return i + 1 },
	})
	p := prompts{root}
	var errs []error
	all := samples()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text, err := readPrompt(host, name)
		if err == nil {
			_, err = root.New(name).Parse(text)
		}
		for _, values := range all[name] {
			if err == nil {
				_, err = p.fill(name, values)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("prompts: %w", err))
		}
	}
	return p, errors.Join(errs...)
}

func readPrompt(host fs.FS, name string) (string, error) {
	if host != nil {
		text, err := fs.ReadFile(host, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return string(text), err
		}
	}
	text, err := ownPrompts.ReadFile("prompts/" + name)
	return string(text), err
}

// fill executes a template.
func (p prompts) fill(name string, values any) (string, error) {
	var b strings.Builder
	if err := p.templates.ExecuteTemplate(&b, name, values); err != nil {
		return "", fmt.Errorf("fill prompt: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

var endOfData = regexp.MustCompile(`(?i)</(\s*data)`)

// delimit quotes text as data, cut to limit bytes (HX3). The text cannot end its
// quotation.
func delimit(label, text string, limit int) string {
	text = endOfData.ReplaceAllString(cut(text, limit), `<\/$1`)
	label = strings.NewReplacer("\"", "'", "<", "(", ">", ")", "\n", " ", "\r", " ").Replace(label)
	return fmt.Sprintf("<data name=%q>\n%s\n</data>", label, text)
}

// cut shortens text to limit bytes, at the boundary of a rune, and says so.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	at := limit
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return fmt.Sprintf("%s\n[cut: the first %d of %d bytes]", text[:at], at, len(text))
}

// oneLine makes one line of a text, so that every piece of feedback is one.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// hash is the SHA-256 of a prompt in lower case hex.
func hash(prompt string) string {
	sum := sha256.Sum256([]byte(prompt))
	return hex.EncodeToString(sum[:])
}
