package console

import (
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/web/console/forms"
)

// deviceHandlers has the page where a person confirms the login of a program.
type deviceHandlers struct{ devices *federation.Devices }

type devicePage struct {
	Form    *forms.Form // asks for the code; nil if Pending has it
	Pending *federation.PendingDevice
}

func newDeviceForm(code string) *forms.Form {
	return forms.New("Continue", pathDevice, forms.Field{Name: "code", Label: "Code", Value: code,
		Hint: "Your program shows it, such as BCDF-GHJK."})
}

// showDevice is GET /console/device. The code in the address only fills the form: who follows a link has to compare the code first.
func (h deviceHandlers) showDevice(c *call) error {
	return c.show("device.html", "Log in a program", devicePage{Form: newDeviceForm(c.FormValue("code"))})
}

// findDevice is POST /console/device. It shows which program asks.
func (h deviceHandlers) findDevice(c *call) error {
	pending, err := h.devices.Find(c.Context(), c.principal, c.PostFormValue("code"))
	if err != nil {
		return h.again(c, err)
	}
	return c.show("device.html", "Log in a program", devicePage{Pending: &pending})
}

// confirmDevice is POST /console/device/confirm.
func (h deviceHandlers) confirmDevice(c *call) error {
	allow := c.PostFormValue("allow") == "true"
	if err := h.devices.Confirm(c.Context(), c.principal, c.PostFormValue("code"), allow); err != nil {
		return h.again(c, err)
	}
	if allow {
		return c.redirect(pathOverview, "deviceAllowed")
	}
	return c.redirect(pathOverview, "deviceDenied")
}

func (h deviceHandlers) again(c *call, err error) error {
	return c.showAgain(err, "device.html", "Log in a program", devicePage{Form: newDeviceForm("").Refuse(c, err)})
}
