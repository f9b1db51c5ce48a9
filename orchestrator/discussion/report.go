package discussion

import (
	"errors"
	"regexp"
	"strings"

	"github.com/convene-go/convene/orchestrator"
)

// report has the ui_creator make its page, and the Reporter (D32-D35, DX11). Neither
// failure ends the run.
func (r *run) report(c *orchestrator.Context) error {
	creator := r.cfg.has(UICreator)
	if !creator && r.cfg.Reporter == nil {
		return nil
	}
	r.fire(c, "to_report")
	if creator {
		if err := r.create(c); err != nil {
			return err
		}
	}
	if r.cfg.Reporter == nil {
		return nil
	}
	if page, err := r.cfg.Reporter.Report(r.out); err == nil {
		r.out.Report = page
	} else {
		r.warn(c, "report.failed", "", Event{Text: "the Reporter: " + err.Error()})
	}
	return nil
}

// create has the ui_creator make its page.
func (r *run) create(c *orchestrator.Context) error {
	m, err := r.say(c, speech{role: UICreator, kind: TypeVisualization, prompt: reportPrompt})
	switch {
	case err == nil:
		r.out.Report = unfence(m.Content)
		if r.out.Report != "" {
			return nil
		}
		err = errSilent
	case c.IsCanceled(err), errors.Is(err, orchestrator.ErrFlow):
		return err
	case orchestrator.IsOver(err):
		r.warn(c, "budget", UICreator, Event{Text: err.Error()})
		return nil
	}
	r.warn(c, "report.failed", UICreator, Event{Text: err.Error()})
	return nil
}

var fence = regexp.MustCompile("(?s)^```[a-zA-Z]*\\s*\n(.*?)\n?\\s*```$")

// unfence is the text in a fence of Markdown, or the text (DX11).
func unfence(text string) string {
	text = strings.TrimSpace(text)
	if in := fence.FindStringSubmatch(text); in != nil {
		return strings.TrimSpace(in[1])
	}
	return text
}
