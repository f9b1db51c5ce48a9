package providers

// Cleaner is implemented by models that know secrets: the keys that their opener was
// given.
type Cleaner interface {
	// Clean returns text without them.
	Clean(text string) string
}

var (
	_ Cleaner = Metered{}
	_ Cleaner = Retry{}
	_ Cleaner = (*Chain)(nil)
)

// Clean implements [Cleaner] with the secrets of Model.
func (m Metered) Clean(text string) string { return cleanBy(m.Model, text) }

// Clean implements [Cleaner] with the secrets of Model.
func (r Retry) Clean(text string) string { return cleanBy(r.Model, text) }

// Clean implements [Cleaner] with the secrets of the models of the chain.
func (c *Chain) Clean(text string) string {
	for _, l := range c.links {
		text = cleanBy(l.model, text)
	}
	return text
}

func cleanBy(m Model, text string) string {
	if c, ok := m.(Cleaner); ok {
		return c.Clean(text)
	}
	return text
}
