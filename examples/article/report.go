package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/research"
)

// report prints the result of the run and writes the files that -o and -json name.
func (o *options) report(c cli.Console, out research.Outcome) error {
	score := "not scored"
	if out.Score != nil {
		score = fmt.Sprintf("quality %.4g, wanted %.4g", *out.Score, o.quality)
	}
	if a := out.Article; a != nil {
		c.Print("\n%s: %d words, %d minutes to read, %d sources\n", cli.Clip(a.Title, 200), a.Words, a.ReadMinutes, len(out.Sources))
		c.Print("%s", cli.Wrap(preview(a.Content), "  "))
	}
	if out.Quality != nil {
		c.Print("\nmarks\n")
		for _, name := range slices.Sorted(maps.Keys(out.Quality)) {
			c.Print("  %-8s %.4g\n", name, out.Quality[name])
		}
	}
	if m := out.Metrics; m.Tasks > 0 {
		c.Print("\niterations %d, tasks %d: %d done, %d failed, %d left out; retries %d\n", m.Iterations, m.Tasks, m.Succeeded, m.Failed, m.Skipped, m.Retries)
	}
	if out.Metrics.Improvement != "" {
		c.Print("%s\n", out.Metrics.Improvement)
	}
	for _, n := range out.SystemNotes {
		c.Print("%s\n", n)
	}
	o.Ending(c, out.Outcome, score, out.Metrics.Duration)
	if o.Model != nil && len(out.Sources) > 0 {
		c.Print("%s\n", fromMemory)
	}
	return errors.Join(o.writeText(c, out), o.json.WriteJSON(c, "outcome", out))
}

// writePage writes the page that -page names.
func (o *options) writePage(c cli.Console, out research.Outcome) error {
	if o.page.Path == "" {
		return nil
	}
	page, err := research.Page(out)
	if err != nil {
		return err
	}
	return o.page.Write(c, "page", page)
}

func (o *options) writeText(c cli.Console, out research.Outcome) error {
	if out.Article == nil {
		return nil
	}
	return o.text.Write(c, "article", o.markdown(out))
}

// preview is the beginning of a text without headings.
func preview(text string) string {
	var said []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			said = append(said, line)
		}
	}
	return cli.Clip(strings.Join(said, " "), 400)
}

// markdown is the article with its sources.
func (o *options) markdown(out research.Outcome) string {
	var b strings.Builder
	title := out.Article.Title
	if title == "" {
		title = o.brief.Topic
	}
	fmt.Fprintf(&b, "# %s\n\n%s\n\n## Sources\n\n", strings.Join(strings.Fields(title), " "), strings.TrimSpace(out.Article.Content))
	if o.Model == nil {
		fmt.Fprintf(&b, "*%s These sources are made up; their addresses lead nowhere.*\n\n", rehearsal.Label)
	} else {
		fmt.Fprintf(&b, "*%s*\n\n", fromMemory)
	}
	for i, s := range out.Sources {
		name := bracket.Replace(s.Title)
		if s.URL != "" {
			name = fmt.Sprintf("[%s](<%s>)", name, angle.Replace(s.URL))
		}
		fmt.Fprintf(&b, "%d. %s", i+1, name)
		if s.Kind != "" {
			fmt.Fprintf(&b, ", %s", strings.Join(strings.Fields(s.Kind), " "))
		}
		b.WriteString("\n")
	}
	return cli.Plain(b.String())
}

// What would end a link's text or address.
var (
	bracket = strings.NewReplacer("[", `\[`, "]", `\]`)
	angle   = strings.NewReplacer("<", "%3C", ">", "%3E")
)
