package regcheck

import "github.com/regwarden/regwarden/regcheck/internal/message"

// Text is a text of the engine for any audience.
type Text = message.Text

// Audience has what depends on who reads a text: the name of the program, how the reader sets a field, and what the program's operator can
// change. Zero fields mean general texts.
type Audience = message.Audience
