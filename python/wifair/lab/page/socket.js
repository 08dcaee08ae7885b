// The connection to the server: the token first, then messages by number, each answered.

export class Socket {
  /** `handlers`: by type of message, what to do with it and its text. `lost` is called when the connection has ended. */
  constructor(handlers, lost) {
    this.handlers = handlers;
    this.number = 0;
    this.waiting = new Map();
    const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? sessionStorage.getItem("token") ?? "";
    sessionStorage.setItem("token", token);
    history.replaceState(null, "", location.pathname);
    this.socket = new WebSocket(`ws://${location.host}/live`);
    this.socket.onopen = () => this.socket.send(JSON.stringify({ type: "hello", token }));
    this.socket.onmessage = (event) => this.take(JSON.parse(event.data), event.data);
    this.socket.onclose = (event) => lost(event.code);
  }

  take(message, text) {
    const waiting = this.waiting.get(message.number);
    if (waiting && message.type !== "state") {
      this.waiting.delete(message.number);
      if (message.type === "refused") waiting.reject(new Error(message.message));
      else waiting.resolve(message);
      return;
    }
    this.handlers[message.type]?.(message, text);
  }

  /** Asks for something; the promise has the answer, or the server's reason for refusing. */
  ask(message) {
    const number = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      this.socket.send(JSON.stringify({ ...message, number }));
    });
  }

  /** A picture has been drawn: the next may come. */
  seen() {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send('{"type":"seen"}');
  }
}
