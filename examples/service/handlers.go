package main

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

const maxBody = 256 << 10 // of requests; as long as a team's prompt

// start begins a run of a form with a prompt, or of the team's Input as JSON. A client that
// sends the same Idempotency-Key and request again gets the same run.
func (s *server) start(w http.ResponseWriter, r *http.Request) {
	in, err := input(w, r)
	if err != nil {
		s.fail(w, err)
		return
	}
	run, err := s.flow.Start(r.Context(), s.engine, in, orchestrator.StartOptions{
		ID:     r.Header.Get("Idempotency-Key"),
		Budget: orchestrator.Budget{Cost: 5 * providers.USD, Calls: 200},
	})
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("Location", "/runs/"+run.ID())
	w.WriteHeader(http.StatusAccepted)
	_, _ = fmt.Fprintln(w, run.ID())
}

// input reads the request for the team.
func input(w http.ResponseWriter, r *http.Request) (in hierarchy.Input, err error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = team.Decode(body, &in) // unknown fields are faults
		}
		if err != nil {
			return in, fmt.Errorf("%w: the JSON cannot be read: %w", errRequest, err)
		}
	case "application/x-www-form-urlencoded":
		if err := r.ParseForm(); err != nil { // PostFormValue would hide it
			return in, fmt.Errorf("%w: the form cannot be read: %w", errRequest, err)
		}
		in.Prompt = r.PostFormValue("prompt")
	default:
		return in, fmt.Errorf("%w: Content-Type is %q, want a form with prompt=..., or application/json with {\"prompt\": \"...\"}", errRequest, kind)
	}
	if strings.TrimSpace(in.Prompt) == "" {
		return in, fmt.Errorf("%w: the request has no prompt; JSON needs the Content-Type application/json", errRequest)
	}
	return in, nil
}

// list shows the newest runs, at most limit of them (50), behind the run after.
func (s *server) list(w http.ResponseWriter, r *http.Request) {
	q := orchestrator.RunQuery{Flow: s.flow.Name, Text: r.FormValue("text"), After: r.FormValue("after"), Limit: 50}
	if limit := r.FormValue("limit"); limit != "" {
		var err error
		if q.Limit, err = strconv.Atoi(limit); err != nil || q.Limit < 1 || q.Limit > 1000 {
			s.fail(w, fmt.Errorf("%w: limit is %.20q, want 1 to 1000", errRequest, limit))
			return
		}
	}
	runs := []orchestrator.Info{}
	for info, err := range s.engine.Runs(r.Context(), q) {
		if err != nil {
			s.fail(w, err)
			return
		}
		runs = append(runs, info)
	}
	if err := reply(w, map[string]any{"runs": runs}); err != nil {
		s.fail(w, err)
	}
}

// events streams the log as server-sent events. A browser that lost the connection
// sends the Last-Event-ID and gets the events after it.
func (s *server) events(w http.ResponseWriter, r *http.Request, run *orchestrator.Run) error {
	var from int64
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		seq, err := strconv.ParseInt(last, 10, 64)
		if err != nil || seq < 0 {
			return fmt.Errorf("%w: Last-Event-ID %q is no event of a run", errRequest, last)
		}
		from = seq + 1
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	rc := http.NewResponseController(w)
	for rec, err := range run.Events(r.Context(), from) {
		if err != nil {
			s.log.Warn("event stream ended", "run", run.ID(), "err", err)
			return nil // the head of the response is sent
		}
		if err := send(w, rec); err != nil || rc.Flush() != nil {
			return nil // the client disconnected
		}
	}
	return nil
}

// send writes one event without the texts of models, which are not for browsers.
func send(w http.ResponseWriter, rec runlog.Record) error {
	if rec.Kind == runlog.Called || rec.Kind == runlog.Ended {
		rec.Data = nil
	}
	data, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", rec.Seq, rec.Kind, data)
	return err
}

// answer takes an answer to a question. The proxy in front of the service, which signs
// people in, sends who they are as X-User. If-Match has the hash of the question that they
// were shown: another one is not answered.
func (s *server) answer(w http.ResponseWriter, r *http.Request, run *orchestrator.Run) error {
	var answer json.RawMessage
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&answer); err != nil {
		return fmt.Errorf("%w: the answer is no JSON: %w", errRequest, err)
	}
	by := orchestrator.AnswerOptions{By: r.Header.Get("X-User"), Seen: strings.Trim(r.Header.Get("If-Match"), `"`)}
	if err := run.AnswerWith(r.Context(), r.PathValue("key"), answer, by); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *server) cancel(w http.ResponseWriter, r *http.Request, run *orchestrator.Run) error {
	if err := run.Cancel(r.Context(), "a client wanted it"); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// info is the run's status, open questions and cost so far.
func (s *server) info(w http.ResponseWriter, r *http.Request, run *orchestrator.Run) error {
	info, err := run.Info(r.Context())
	if err != nil {
		return err
	}
	return reply(w, info)
}

// state is where each department and specialist is.
func (s *server) state(w http.ResponseWriter, r *http.Request, run *orchestrator.Run) error {
	var state hierarchy.State
	if err := run.State(r.Context(), &state); err != nil {
		return err
	}
	return reply(w, state)
}

// outcome waits for the end. Partial work is an outcome, too, with its status and errors.
func (s *server) outcome(w http.ResponseWriter, r *http.Request, run *orchestrator.Run) error {
	out, err := s.flow.Result(r.Context(), run)
	if err != nil && out.Status == "" {
		return err // it did not end, or has no outcome
	}
	return reply(w, out)
}
