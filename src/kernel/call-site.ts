/** Where declarations were made, so that an error at start names their file and line. */
const sites = new WeakMap<object, Error>()

/** A line of a stack trace that names a place, in the format of V8. */
const frame = /^ +at (?:.* \()?(file:\/\/)?(\S.*:\d+:\d+)\)?$/

/** Remembers the caller of the function that calls this one. Formatting the stack waits until an error needs it. */
export function recordCallSite(declared: object): void {
  sites.set(declared, new Error())
}

/** Gives a copy of a declaration the place of the original. */
export function keepCallSite<Copy extends object>(original: object, copy: Copy): Copy {
  const site = sites.get(original)
  if (site) sites.set(copy, site)
  return copy
}

/** Returns `file:line:column`, or undefined if the value was not declared with `domain` or `operation`. */
export function callSiteOf(declared: unknown): string | undefined {
  const site = typeof declared === 'object' && declared !== null ? sites.get(declared) : undefined
  const frames = site?.stack?.split('\n').flatMap((line) => {
    const [, scheme, place] = frame.exec(line) ?? []
    return place === undefined ? [] : [scheme ? decodeURIComponent(place) : place]
  })
  // The first two are `recordCallSite` and its caller.
  return frames?.[2]
}

/** Appends the place of a declaration to an error message. */
export function withCallSite(message: string, declared: unknown): string {
  const site = callSiteOf(declared)
  return site === undefined ? message : `${message} (${site})`
}

/** An error in a declaration. */
export interface DeclarationError {
  /** Whose declaration it is, such as a domain. */
  owner: string
  /** Begins with the field. */
  message: string
  /** Has the call site. */
  declared?: unknown
}

export type ReportError = (error: DeclarationError) => void

/** Every error that one check has found. */
export class DeclarationErrors extends TypeError {
  readonly errors: readonly DeclarationError[]

  constructor(errors: readonly DeclarationError[]) {
    super(errors.map(({ message, declared }) => withCallSite(message, declared)).join('; '))
    this.errors = errors
  }
}

export const throwError: ReportError = (error) => {
  throw new DeclarationErrors([error])
}
