package workers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/orchestrator/research/workers/internal/page"
	"github.com/convene-go/convene/orchestrator/research/workers/internal/prose"
)

// ErrNothing says that the input of a worker has nothing to work on.
const ErrNothing = agent.Code("research/nothing-to-do")

// maxSummary is how long the summary of findings may be, in characters.
const maxSummary = 2000

// target is a page to read, as it was found.
type target struct {
	research.Source
	err error // nil: it was read, and the source has its text
}

// Call reads the pages that req.Input, a research.WorkerInput, names, and answers with
// research.Findings: a source for each page that was read, with the requested address
// and the text as its excerpt. Its relevance is that of the source that named the page, 1
// for pages in the brief. Unread and the summary name the pages that could not be read.
//
// It fails if no page could be read, with a transient error if a retry may help, after
// the longest wait that a site asked for. Without an address it is ErrNothing.
func (s *WebScraper) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	in, err := inputOf(req)
	if err != nil {
		return agent.Response{}, fmt.Errorf("web scraper: %w", err)
	}
	list, again := targets(in)
	list = list[:min(len(list), s.cfg.Limits.Pages)]
	if len(list) == 0 && !again {
		return agent.Response{}, final{fmt.Errorf("web scraper: %w: neither the brief nor another worker has named an address", ErrNothing)}
	}
	within, cancel := s.within(ctx)
	defer cancel()
	s.readAll(within, list)
	if err := ctx.Err(); err != nil {
		return agent.Response{}, fmt.Errorf("web scraper: %w", err)
	}
	f, err := findings(list)
	if err != nil {
		return agent.Response{}, fmt.Errorf("web scraper: %w", err)
	}
	return agent.Response{Data: agent.JSON(f)}, nil
}

func inputOf(req agent.Request) (research.WorkerInput, error) {
	var in research.WorkerInput
	if err := json.Unmarshal(req.Input, &in); err != nil {
		return in, final{fmt.Errorf("the input is no research.WorkerInput: %w", err)}
	}
	return in, nil
}

// within is ctx with the time limit of a call. It ends somewhat before a deadline of ctx,
// so that what was read until then is returned.
func (s *WebScraper) within(ctx context.Context) (context.Context, context.CancelFunc) {
	total := s.cfg.Limits.TotalTime
	if end, ok := ctx.Deadline(); ok {
		total = min(total, time.Until(end)/10*9)
	}
	return context.WithTimeout(ctx, total)
}

// targets returns the pages that the brief names, then those that others found, the most
// relevant first. Each is there once. Pages that this worker has read before are left out;
// again: one was.
func targets(in research.WorkerInput) (list []target, again bool) {
	done := map[string]bool{}
	var found []research.Source
	for _, who := range slices.Sorted(maps.Keys(in.Inputs)) {
		var f research.Findings
		if json.Unmarshal(in.Inputs[who], &f) != nil {
			continue // it is of another kind
		}
		if name, _, _ := strings.Cut(who, "#"); name != in.WorkerID || name == "" {
			found = append(found, f.Sources...)
			continue
		}
		for _, src := range f.Sources {
			if key, ok := research.NormalURL(src.URL); ok {
				done[key], again = true, true
			}
		}
	}
	slices.SortStableFunc(found, func(a, b research.Source) int { return cmp.Compare(b.Relevance, a.Relevance) })
	var wanted []research.Source
	for _, address := range in.Brief.PreferredSources {
		wanted = append(wanted, research.Source{URL: address, Relevance: 1})
	}
	for _, src := range append(wanted, found...) {
		key, ok := research.NormalURL(src.URL)
		if strings.Contains(src.URL, "@") {
			key = src.URL // with a user it is refused, and must not stand for the page
		}
		if !ok || done[key] {
			continue
		}
		done[key] = true
		src.URL = strings.TrimSpace(src.URL)
		list = append(list, target{Source: src})
	}
	return list, again
}

// readAll reads pages: those of a site one after another, some sites at once.
func (s *WebScraper) readAll(ctx context.Context, list []target) {
	v, end := s.begin()
	defer end()
	var sites [][]*target
	at := map[string]int{}
	for i := range list {
		host := hostOf(list[i].URL)
		n, known := at[host]
		if !known {
			n = len(sites)
			at[host] = n
			sites = append(sites, nil)
		}
		sites[n] = append(sites[n], &list[i])
	}
	places := make(chan struct{}, s.cfg.Limits.Parallel)
	var all sync.WaitGroup
	for _, pages := range sites {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			for _, t := range pages {
				v.read(ctx, t)
			}
		})
	}
	all.Wait()
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// read reads a page into its target.
func (v *visit) read(ctx context.Context, t *target) {
	defer func() {
		if p := recover(); p != nil { // of the host's transport
			t.err = &agent.Error{Message: fmt.Sprintf("panic: %v", p), Stack: string(debug.Stack())}
		}
	}()
	p, err := v.page(ctx, t.URL)
	if err != nil {
		t.err = err
		return
	}
	t.Title = cmp.Or(p.Title, prose.OneLine(t.Title, page.MaxTitle), prose.Cut(t.URL, page.MaxTitle))
	t.Kind = cmp.Or(t.Kind, "web")
	if !(t.Relevance >= 0 && t.Relevance <= 1) {
		t.Relevance = 0
	}
	t.Excerpt = p.Text
}

// findings are the pages that were read, or an error if there is none.
func findings(list []target) (research.Findings, error) {
	f := research.Findings{Sources: []research.Source{}}
	var failed []string
	var again error
	wait := time.Duration(0)
	for _, t := range list {
		if t.err == nil {
			f.Sources = append(f.Sources, t.Source)
			continue
		}
		reason := prose.OneLine(t.err.Error(), 200)
		f.Unread = append(f.Unread, research.Unread{URL: t.URL, Reason: reason})
		failed = append(failed, fmt.Sprintf("%s: %s", prose.Cut(t.URL, 200), reason))
		if e := agent.ErrorOf(t.err); e.Transient || errors.Is(t.err, context.DeadlineExceeded) {
			again, wait = t.err, max(wait, e.RetryAfter)
		}
	}
	f.Summary = fmt.Sprintf("Read %d of %d pages.", len(f.Sources), len(list))
	if failed != nil {
		f.Summary = prose.Cut(f.Summary+" Not read: "+strings.Join(failed, "; "), maxSummary)
	}
	if failed == nil || len(f.Sources) > 0 {
		return f, nil
	}
	err := errors.New(prose.Cut(fmt.Sprintf("none of %d pages could be read: %s", len(list), strings.Join(failed, "; ")), maxSummary))
	if again != nil {
		return f, agent.Transient(err, wait)
	}
	return f, final{err}
}
