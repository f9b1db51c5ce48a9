package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/providers"
)

// studio is an engine on the database.
type studio struct {
	pool  *pgxpool.Pool
	store *postgres.Store
	eng   *orchestrator.Engine
	film  orchestrator.Flow[hierarchy.Input, hierarchy.Outcome]
}

// open opens a studio that only reads: it has no agents.
func open(ctx context.Context, dsn string) (*studio, error) {
	return openWith(ctx, dsn, orchestrator.Config{Fleet: orchestrator.Fleet{Observe: true}})
}

// openWith opens a studio with that engine. A host needs no more code than this.
func openWith(ctx context.Context, dsn string, cfg orchestrator.Config) (_ *studio, err error) {
	s := &studio{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	if s.film, err = hierarchy.New(hierarchy.Config{Name: "film", Departments: hierarchy.MovieDepartments(), Master: hierarchy.Master{Agent: "master"}}); err != nil {
		return nil, err
	}
	if s.pool, err = pgxpool.New(ctx, dsn); err != nil {
		return nil, err
	}
	if s.store, err = postgres.New(ctx, postgres.Config{Pool: s.pool, Schema: schema}); err != nil {
		return nil, err
	}
	cfg.Store = s.store
	if !cfg.Fleet.Observe {
		cfg.Flows = []orchestrator.AnyFlow{s.film}
	}
	s.eng, err = orchestrator.NewLocal(cfg)
	return s, err
}

func (s *studio) close(ctx context.Context) error {
	var errs []error
	if s.eng != nil {
		errs = append(errs, s.eng.Close(context.WithoutCancel(ctx)))
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.pool != nil {
		s.pool.Close()
	}
	return errors.Join(errs...)
}

// request is the request for a film.
func request(n int) string {
	return fmt.Sprintf("Create a dramatic opening scene, take %d, with Aladdin stealing bread", n)
}

// cast are scripted agents for all roles of the film.
func cast(pace time.Duration) agent.Roster {
	roster := agent.Roster{"master": actor("The film", pace)}
	for _, d := range hierarchy.MovieDepartments() {
		roster[d.Head] = actor("The "+d.Name, pace)
		for _, a := range d.Agents {
			roster[a.ID] = actor("The "+a.Name, pace)
		}
	}
	return roster
}

// actor answers with a sentence, or with a grade if one is requested.
func actor(name string, pace time.Duration) agent.Func {
	return func(ctx context.Context, req agent.Request) (agent.Response, error) {
		select {
		case <-time.After(pace):
		case <-ctx.Done():
			return agent.Response{}, ctx.Err()
		}
		if req.Output != nil {
			grade := map[string]any{"quality": 90, "relevance": 90, "consistency": 90, "suggestions": []string{}}
			return agent.Response{Data: agent.JSON(grade), Usage: providers.Usage{Calls: 1}}, nil
		}
		return agent.Response{Usage: providers.Usage{Calls: 1}, Text: name + " shows Aladdin, the bread and the opening scene, and lets nobody look away: " + strings.Repeat("dust, light, a hand. ", 8)}, nil
	}
}

// calls counts a film's recorded calls, and those that are recorded twice.
func (s *studio) calls(ctx context.Context, id string) (calls, twice int, err error) {
	seen := map[string]bool{}
	for rec, err := range s.store.Records(ctx, id, 0) {
		if err != nil {
			return 0, 0, err
		}
		if rec.Kind != runlog.Called {
			continue
		}
		key := fmt.Sprint(rec.Branch, ":", rec.N)
		if calls++; seen[key] {
			twice++
		}
		seen[key] = true
	}
	return calls, twice, nil
}
