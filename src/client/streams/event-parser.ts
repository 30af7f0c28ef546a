/** A server-sent event. */
export interface ServerEvent {
  /** The id after which the stream continues. Empty if the service sends none. */
  id: string
  /** Default: `message`. */
  event: string
  data: string
}

/** Where a stream continues after a disconnection. */
export interface Position {
  lastEventId: string
  /** The delay that the service asks for with `retry`. */
  retryMs: number
}

/** A larger event is a fault of the service, and would fill the memory of a page. */
export const maxEventLength = 1024 * 1024

/** Parses the text of one response as the HTML standard defines it (9.2.6), and moves the position. */
export class EventParser {
  readonly #position: Position
  #id: string
  #event = ''
  #data = ''
  #line = ''
  #endsInCarriageReturn = false

  constructor(position: Position) {
    this.#position = position
    this.#id = position.lastEventId
  }

  /** Returns the events that a part of the text completes. Throws a RangeError for an event above `maxEventLength`. */
  *read(part: string): Generator<ServerEvent, void, undefined> {
    // CRLF is one end of a line, also between two parts.
    const text = this.#endsInCarriageReturn && part.startsWith('\n') ? part.slice(1) : part
    if (part !== '') this.#endsInCarriageReturn = text.endsWith('\r')
    const [rest = '', ...further] = text.split(/\r\n|\n|\r/)
    this.#append(rest)
    for (const next of further) {
      const line = this.#line
      this.#line = ''
      if (line === '') yield* this.#dispatch()
      else this.#readField(line)
      this.#append(next)
    }
  }

  #append(text: string): void {
    this.#line += text
    if (this.#line.length + this.#data.length > maxEventLength)
      throw new RangeError(`an event has more than ${maxEventLength} characters`)
  }

  *#dispatch(): Generator<ServerEvent, void, undefined> {
    const [event, data] = [this.#event || 'message', this.#data]
    this.#event = ''
    this.#data = ''
    this.#position.lastEventId = this.#id
    if (data !== '') yield { id: this.#id, event, data: data.slice(0, -1) }
  }

  #readField(line: string): void {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'data') this.#data += `${value}\n`
    else if (name === 'event') this.#event = value
    else if (name === 'id' && !value.includes('\0')) this.#id = value
    else if (name === 'retry' && /^\d+$/.test(value)) this.#position.retryMs = Number(value)
  }
}
