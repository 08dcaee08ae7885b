// The controls: forms made from what the scenario has and from the schema of the schemes.

const el = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};

let numbered = 0;

export class Forms {
  /** `apply(change)` asks for a change; `refused(error)` tells why not; `restart(keys)` begins again with these. */
  constructor(form, apply, refused, restart) {
    this.form = form;
    this.apply = apply;
    this.restart = restart;
    this.refused = refused;
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  field(label, input, title = "") {
    numbered += 1;
    input.id = `control-${numbered}`;
    if (title) input.title = title;
    const name = el("label", { htmlFor: input.id, textContent: label, title });
    return el("div", { className: "field" }, name, input);
  }

  async send(change, input) {
    try {
      await this.apply(change);
      input?.setCustomValidity("");
    } catch (error) {
      this.refused(error);
    }
  }

  numeric(value, [min, max], step, change) {
    const input = el("input", { type: "number", value: String(value), min: String(min), max: String(max), step: String(step) });
    input.addEventListener("change", () => {
      if (input.value !== "" && input.checkValidity()) this.send(change(Number(input.value)), input);
      else input.reportValidity();
    });
    return input;
  }

  choice(value, names, change) {
    const input = el("select", {}, ...names.map((name) => el("option", { value: String(name), textContent: String(name), selected: name === value })));
    input.addEventListener("change", () => this.send(change(input.value), input));
    return input;
  }

  /** Makes all forms for a scene and the values as they stand. */
  build(scene, values, state) {
    this.scene = scene;
    this.bss = scene.bsss.find(({ name }) => name === values.bss);
    const groups = [this.buffer(scene, values), this.counts(scene, values), this.tcp(scene, values), this.wire(scene, values),
      this.rates(scene, values, state), this.fixed(scene, values)];
    this.form.classList.toggle("several", scene.bsss.length > 1);
    this.form.replaceChildren(...groups.filter(Boolean));
  }

  /** A heading that says of which of several BSSs. */
  heading(text) {
    return el("legend", { textContent: this.scene.bsss.length > 1 ? `${text} of ${this.bss.name}` : text });
  }

  /** A change of the AP, or of the wire, of the BSS that is shown. */
  ofBss(change) {
    return this.scene.bsss.length > 1 ? { bss: this.bss.name, ...change } : change;
  }

  buffer(scene, values) {
    const set = el("fieldset", {}, this.heading("Scheme and buffer"));
    const names = scene.schemes.map((scheme) => scheme.name);
    const idea = el("p", { className: "hint" });
    const box = el("div");
    const choose = this.choice(values.scheme.name, names, (name) => this.ofBss({ ap: { scheme: name } }));
    const show = () => {
      const scheme = scene.schemes.find((one) => one.name === values.scheme.name);
      idea.textContent = scheme?.idea ?? "";
      box.replaceChildren(...this.parameters(scheme, values.scheme));
    };
    show();
    set.append(this.field("Scheme", choose), idea, box);
    const limit = this.numeric(values.limit_packets, scene.bounds["ap.limit_packets"], 1, (packets) => this.ofBss({ ap: { limit_packets: packets } }));
    limit.disabled = this.bss.limit_controller !== null;
    set.append(this.field("Limit [packets]", limit, this.bss.limit_controller === null ? "" : `${this.bss.limit_controller} moves it`));
    return set;
  }

  /** A form for the parameters of a scheme. */
  parameters(scheme, now) {
    if (!scheme) return [];
    const given = { ...now };
    delete given.name;
    const change = (key, value) => this.ofBss({ ap: { scheme: { name: scheme.name, ...this.plain(scheme, { ...given, [key]: value }) } } });
    const fields = scheme.parameters.filter((one) => one.kind !== "fixed").map((one) => {
      const value = given[one.key] ?? one.default;
      const label = one.key.replaceAll("_", " ");
      if (one.kind === "choice") {
        return this.field(label, this.choice(value, one.choices, (word) => change(one.key, word)), one.description);
      }
      if (one.kind === "boolean") {
        const input = el("input", { type: "checkbox", checked: Boolean(value) });
        input.addEventListener("change", () => this.send(change(one.key, input.checked), input));
        return this.field(label, input, one.description);
      }
      const input = el("input", { type: "number", value: value === null || value === undefined ? "" : String(value),
        step: one.kind === "integer" ? "1" : "any", placeholder: one.nullable ? "none" : "" });
      input.addEventListener("change", () => {
        if (input.value === "" && !one.nullable) return input.reportValidity();
        return this.send(change(one.key, input.value === "" ? undefined : Number(input.value)), input);
      });
      return this.field(label, input, one.description);
    });
    if (!fields.length) return [];
    const details = el("details", { open: this.open ?? false }, el("summary", { textContent: `Parameters of ${scheme.name}` }), ...fields);
    details.addEventListener("toggle", () => { this.open = details.open; });
    return [details];
  }

  /** Parameters that differ from their defaults: the event says no more than it must. */
  plain(scheme, values) {
    const kept = {};
    for (const one of scheme.parameters) {
      const value = values[one.key];
      if (value !== undefined && value !== null && JSON.stringify(value) !== JSON.stringify(one.default)) kept[one.key] = value;
    }
    return kept;
  }

  counts(scene, values) {
    const set = el("fieldset", {}, this.heading("Open flows"));
    const own = new Set(scene.flows.filter(({ station }) => this.bss.stations.includes(station)).map(({ group }) => group));
    for (const group of scene.groups.filter(({ name }) => own.has(name))) {
      const said = el("output", { textContent: String(values.counts[group.name]) });
      const input = el("input", { type: "range", min: "0", max: String(group.most), value: String(values.counts[group.name]) });
      input.addEventListener("input", () => { said.textContent = input.value; });
      input.addEventListener("change", () => this.send({ flows: { name: group.name, count: Number(input.value) } }, input));
      const row = this.field(`${group.name} (${group.direction})`, input);
      row.classList.add("by-range");
      row.insertBefore(said, input);
      set.append(row);
    }
    return set;
  }

  tcp(scene, values) {
    const over = scene.groups.filter((group) => group.over_tcp).map((group) => group.name);
    if (!over.length) return null;
    const first = values.tcp[over[0]];
    const set = el("fieldset", {}, el("legend", { textContent: `TCP of new connections${scene.bsss.length > 1 ? " of all BSSs" : ""}` }));
    const same = (key) => over.every((name) => values.tcp[name][key] === first[key]);
    const change = (key, value) => ({ flows: { tcp: { [key]: value } } });
    const control = this.choice(first.congestion_control, scene.congestion_controls, (name) => change("congestion_control", name));
    const window = this.numeric(first.receiver_window_segments, scene.bounds["flows.tcp.receiver_window_segments"], 1,
      (segments) => change("receiver_window_segments", segments));
    const ecn = el("input", { type: "checkbox", checked: first.ecn });
    ecn.addEventListener("change", () => this.send(change("ecn", ecn.checked), ecn));
    set.append(this.field("Congestion control", control), this.field("Window [segments]", window), this.field("ECN", ecn));
    const again = el("button", { type: "button", textContent: "Reconnect all flows" });
    again.title = "Closes every connection over TCP and opens it again, with these values";
    again.addEventListener("click", async () => {
      const counts = over.map((name) => [name, Number(this.values.counts[name])]);
      for (const count of [0, 1]) {
        for (const [name, open] of counts) await this.send({ flows: { name, count: count * open } });
      }
    });
    const mixed = ["congestion_control", "receiver_window_segments", "ecn"].every(same) ? "" : " Groups differ now; a change sets all.";
    set.append(el("p", { className: "hint", textContent: `Open connections keep theirs.${mixed}` }), again);
    this.values = values;
    return set;
  }

  wire(scene, values) {
    const several = scene.bsss.length > 1;
    const heading = several && !this.bss.has_wire ? el("legend", { textContent: `Wire that ${this.bss.name} shares with ${scene.bsss[0].name}` })
      : this.heading("Wire");
    const set = el("fieldset", {}, heading);
    const of = (change) => (this.bss.has_wire ? this.ofBss(change) : change);
    set.append(this.field("One-way delay [ms]", this.numeric(values.one_way_delay_ms, scene.bounds["wire.one_way_delay_ms"], "any",
      (ms) => of({ wire: { one_way_delay_ms: ms } }))));
    return set;
  }

  /** In a field: what cannot change during a run. */
  fixed(scene, values) {
    if (!scene.in_field) return null;
    const set = el("fieldset", {}, el("legend", { textContent: "By a restart" }));
    const wanted = {};
    const add = (label, key, least, title) => {
      const input = el("input", { type: "number", value: String(values.fixed[key] ?? ""), min: String(least), step: "1", placeholder: "none" });
      input.addEventListener("change", () => { wanted[key] = input.value === "" ? null : Number(input.value); });
      set.append(this.field(label, input, title));
    };
    add("RTS above [bytes]", "mac.rts_threshold_bytes", 0, "RTS and CTS precede longer frames of all nodes; none: never");
    const channel = `bss[${values.bss}].channel`;
    if (channel in values.fixed) add(`Channel of ${values.bss}`, channel, 1, "By the number of its centre, of its width and of the band of the PHY");
    const width = `bss[${values.bss}].width_mhz`;
    if (width in values.fixed) add(`Width of ${values.bss} [MHz]`, width, 20, "20 and its doubles; a channel of another width has another number");
    const again = el("button", { type: "button", textContent: "Restart with these" });
    again.title = "Begins again at time zero with these values";
    again.addEventListener("click", () => this.restart(wanted));
    set.append(el("p", { className: "hint", textContent: "RTS, channels and widths, like positions and powers, hold for a whole run." }), again);
    return set;
  }

  rates(scene, values, state) {
    const set = el("fieldset", {}, this.heading("Station"));
    const open = new Set(scene.flows.filter((_, i) => !state || state.flows.open[i]).map((flow) => flow.station));
    const own = this.bss.stations.map((i) => scene.stations[i]);
    const listed = own.filter((_, i) => open.has(this.bss.stations[i]));
    const names = listed.length ? listed : own;
    this.station = names.includes(this.station) ? this.station : names[0];
    const index = () => scene.stations.indexOf(this.station);
    const modes = () => scene.modes[index()];
    const mode = this.choice(null, modes().choices, (value) => ({ station: { name: this.station, [modes().key]: Number(value) } }));
    const field = this.field("Rate [Mbps]", mode);
    const show = () => {
      const { key, choices } = modes();
      field.firstChild.textContent = key === "mcs" ? "MCS" : "Rate [Mbps]";
      if (mode.options.length !== choices.length || mode.options[0]?.value !== String(choices[0])) {
        mode.replaceChildren(...choices.map((value) => new Option(String(value), String(value))));
      }
      const now = (this.state ?? state)?.stations[key === "mcs" ? "mcs_up" : "rate_up_mbps"];
      mode.value = String(now?.[index()] ?? "");
    };
    const which = el("select", {}, ...names.map((name) => el("option", { value: name, textContent: name, selected: name === this.station })));
    which.addEventListener("change", () => { this.station = which.value; show(); });
    show();
    this.showRate = show;
    set.append(this.field("Station", which), field);
    return set;
  }
}
