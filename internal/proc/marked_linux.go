package proc

import (
	"bytes"
	"context"
	"fmt"
	"os"
)

// marked lists the processes that have the entry in their environment.
func marked(_ context.Context, entry string) (found []int, err error) {
	for _, pid := range pids() {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+entry+"\x00")) {
			found = append(found, pid)
		}
	}
	return found, nil
}
