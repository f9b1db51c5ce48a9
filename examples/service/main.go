package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/convene-go/convene/blackboard/sqlite"
)

const grace = 10 * time.Second // for running requests and agents

func main() {
	addr := flag.String("addr", "localhost:8080", "the address to listen on")
	db := flag.String("db", "service.db", "the SQLite file that keeps the runs")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "service: %q is no flag (-h lists them)\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx, *addr, *db, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

// serve answers until ctx is done. Then it suspends the runs, and the next start resumes
// them.
func serve(ctx context.Context, addr, db string, log *slog.Logger) (err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr) // first: a service that cannot listen resumes no run
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // the server may have closed it already
	store, err := sqlite.Open(db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	s, err := open(ctx, scripted(), store, log)
	if err != nil {
		return err
	}
	log.Info("listening", "addr", l.Addr().String())
	web := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	web.BaseContext = func(net.Listener) context.Context { return ctx } // streams end with it
	stopped := make(chan error, 1)
	defer context.AfterFunc(ctx, func() { stopped <- s.shutdown(ctx, web) })()
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(err, s.engine.Close(context.WithoutCancel(ctx)))
	}
	return <-stopped
}

// shutdown waits for running requests and then suspends the runs.
func (s *server) shutdown(ctx context.Context, web *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(web.Shutdown(ctx), s.engine.Close(ctx))
}
