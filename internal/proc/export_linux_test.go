package proc

import (
	"context"
	"sync"
)

// Isolates reports whether the kernel lets us make PID namespaces.
var Isolates = sync.OnceValue(func() bool {
	res, err := Run(context.Background(), Command{Path: "/bin/sh", Args: []string{"-c", "echo $$"}, Dir: "/"})
	return err == nil && res.Stdout.Head == "1\n"
})
