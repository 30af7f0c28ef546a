/**
 * A dot segment before or between `;`. Servlet containers drop path parameters before they resolve dot segments, so
 * `..;x` means `..` to them (RFC 3986, 3.3 and 5.2.4).
 */
const dotSegment = /(^|;)\.{1,2}(;|$)/

/** A proxy or a service could decode these once more and request a different path. */
const unsafeCharacter = /[/\\%\p{Cc}]/u

/** Whether a decoded segment of a path could lead a service to another path. */
export function isUnsafeSegment(segment: string): boolean {
  return dotSegment.test(segment) || unsafeCharacter.test(segment)
}

/** `isUnsafeSegment` for each segment of an encoded path. Also true if the path cannot be decoded. */
export function hasUnsafeSegment(path: string): boolean {
  try {
    return path.split('/').some((segment) => isUnsafeSegment(decodeURIComponent(segment)))
  } catch {
    return true
  }
}
