/** News for all replicas, this one included. They may be lost: whoever listens must be right without them, only later. */
export interface Announcements {
  /** Heard here at once, and on the other replicas soon. It never fails; it may not arrive there. */
  announce(topic: Topic, text: string): void
  listen(topic: Topic, listener: Listener): void
}

export type Listener = (text: string) => void

/** `session-changed`: the id of a session that has ended or changed. */
export type Topic = 'session-changed'

/** For a process that is alone. */
export const localAnnouncements = (): Announcements => {
  const listeners = new Map<Topic, Listener[]>()
  return {
    announce: (topic, text) => {
      for (const listener of listeners.get(topic) ?? []) listener(text)
    },
    listen: (topic, listener) => void listeners.set(topic, [...(listeners.get(topic) ?? []), listener]),
  }
}
