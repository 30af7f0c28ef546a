/** News among the replicas that may be lost: whoever listens must be right without them, only later. */
export interface Announcements {
  /** Tells the other replicas. It never fails; it may not arrive. */
  announce(topic: Topic, text: string): void
  /** One listener a topic. */
  listen(topic: Topic, listener: (text: string) => void): void
}

/** `session-changed`: the id of a session that has ended or changed. */
export type Topic = 'session-changed'
