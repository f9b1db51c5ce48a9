package team

import (
	"embed"
	"io/fs"
	"text/template"

	"github.com/convene-go/convene/orchestrator/internal/prompt"
)

// Prompts reads a team's templates: those of its folder prompts, or the host's of the
// same name. samples fill each of them, by file name, so that a wrong field shows at
// New; a file of the host that no sample names is a fault. quote bounds the bytes that
// the function data quotes of a text (0: all); funcs are more functions. All faults are
// in the one error.
func Prompts(own embed.FS, host fs.FS, samples map[string][]any, quote int, funcs template.FuncMap) (prompt.Set, error) {
	files, err := fs.Sub(own, "prompts")
	if err != nil {
		return prompt.Set{}, err
	}
	return prompt.New(prompt.Source{Own: files, Host: host, Samples: samples, Quote: quote, Funcs: funcs})
}
