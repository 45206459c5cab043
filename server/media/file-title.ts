const videoExtension = /\.(3gp|avi|flv|m2ts|m4v|mkv|mov|mp4|mpe?g|mts|mxf|ogv|qt|ts|webm|wmv)$/i

/** The title of a video that has none: the name of its file, without the extension. */
export function titleOfFile(name: string): string {
  return name.replace(videoExtension, '') || name
}
