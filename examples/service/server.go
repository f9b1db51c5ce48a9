package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// server gives access to the runs of one flow. It has no state of its own: what it shows
// is in the store, so that any process may show it.
type server struct {
	engine *orchestrator.Engine
	flow   orchestrator.Flow[hierarchy.Input, Outcome]
	log    *slog.Logger
}

// open makes a server. Its engine resumes the runs of dead processes, now and later.
func open(ctx context.Context, agents agent.Roster, store runlog.Store, log *slog.Logger) (*server, error) {
	flow, err := newFlow(hierarchy.Config{Name: "team", Departments: departments()})
	if err != nil {
		return nil, err
	}
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: agents, Flows: []orchestrator.AnyFlow{flow}, Store: store, Log: log})
	if err != nil {
		return nil, err // it lists the agents that are missing in the roster
	}
	resumed, err := eng.Resume(ctx)
	if err != nil {
		log.Warn("some runs were not resumed", "err", err)
	}
	log.Info("resumed", "runs", len(resumed.Runs), "elsewhere", len(resumed.Held))
	return &server{eng, flow, log}, nil
}

func (s *server) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("POST /runs", s.start)
	m.HandleFunc("GET /runs", s.list)
	m.HandleFunc("GET /runs/{id}", s.with(s.info))
	m.HandleFunc("GET /runs/{id}/events", s.with(s.events))
	m.HandleFunc("GET /runs/{id}/state", s.with(s.state))
	m.HandleFunc("GET /runs/{id}/outcome", s.with(s.outcome))
	m.HandleFunc("POST /runs/{id}/answers/{key}", s.with(s.answer))
	m.HandleFunc("DELETE /runs/{id}", s.with(s.cancel))
	return m
}

// handler is a handler of one run; its error becomes the response.
type handler func(w http.ResponseWriter, r *http.Request, run *orchestrator.Run) error

func (s *server) with(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		run, err := s.engine.Open(r.Context(), r.PathValue("id"))
		if err == nil {
			err = h(w, r, run)
		}
		if err != nil {
			s.fail(w, err)
		}
	}
}

// statuses are the HTTP statuses of the library's errors.
var statuses = []struct {
	err    error
	status int
}{
	{orchestrator.ErrNoRun, http.StatusNotFound},
	{orchestrator.ErrNoState, http.StatusNotFound},
	{orchestrator.ErrAnswered, http.StatusConflict},
	{orchestrator.ErrNoQuestion, http.StatusConflict},
	{orchestrator.ErrExists, http.StatusConflict},
	{orchestrator.ErrChanged, http.StatusPreconditionFailed},
	{orchestrator.ErrNotAllowed, http.StatusForbidden},
	{orchestrator.ErrTooLarge, http.StatusRequestEntityTooLarge},
	{orchestrator.ErrMalformed, http.StatusBadRequest},
	{errRequest, http.StatusBadRequest},
	{orchestrator.ErrStopped, http.StatusServiceUnavailable},
}

var errRequest = errors.New("bad request")

func (s *server) fail(w http.ResponseWriter, err error) {
	for _, known := range statuses {
		if errors.Is(err, known.err) {
			http.Error(w, err.Error(), known.status)
			return
		}
	}
	s.log.Error("request failed", "err", err) // the client gets no details
	http.Error(w, "internal error", http.StatusInternalServerError)
}

func reply(w http.ResponseWriter, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n')) // an error: the client disconnected
	return nil
}
