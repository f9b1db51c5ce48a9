package providers

// Windowed is implemented by models that know their window.
type Windowed interface {
	// Window returns how many tokens one call may have, its answer included; 0: not known.
	Window() int
}

// Window returns how many tokens one call of m may have, its answer included. 0: m is not
// [Windowed], or does not know it.
func Window(m Model) int {
	if w, ok := m.(Windowed); ok {
		return w.Window()
	}
	return 0
}

// Window implements [Windowed]: it is the Spec's, or else that of Model.
func (m Metered) Window() int {
	if m.Spec.Window > 0 {
		return m.Spec.Window
	}
	return Window(m.Model)
}

// Window implements [Windowed]: it is the smallest that a model of the chain knows.
func (c *Chain) Window() int {
	least := 0
	for _, l := range c.links {
		if w := Window(l.model); w > 0 && (least == 0 || w < least) {
			least = w
		}
	}
	return least
}

// Window implements [Windowed].
func (r Retry) Window() int { return Window(r.Model) }
