/** Whether the client has what an entity tag names, by its If-None-Match: a weak comparison (RFC 9110, 13.1.2). */
export const hasTag = (ifNoneMatch: string | null | undefined, tag: string): boolean =>
  (ifNoneMatch ?? '').split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === tag)
