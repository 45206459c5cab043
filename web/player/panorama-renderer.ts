import type { Rotation } from './panorama-view.ts'

// The canvas of the 360° view: one triangle over all of it, and for each pixel the direction it looks in and the
// place of an equirectangular picture that shows what is there. A sphere of triangles would bend straight lines.

const vertexShader = `
  attribute vec2 corner;
  uniform vec2 reach;
  varying vec2 place;
  void main() {
    place = corner * reach;
    gl_Position = vec4(corner, 0.0, 1.0);
  }`

// Near a pole the arcus sine has few digits left, so it is the arcus tangent; of a pole itself there is no
// longitude, and whatever is taken for it shows the same.
const fragmentShader = `
  #ifdef GL_FRAGMENT_PRECISION_HIGH
  precision highp float;
  #else
  precision mediump float;
  #endif
  uniform mat3 rotation;
  uniform sampler2D frame;
  varying vec2 place;
  const float pi = 3.141592653589793;
  void main() {
    vec3 direction = rotation * vec3(place, -1.0);
    float level = length(direction.xz);
    float longitude = level > 0.000001 ? atan(direction.x, -direction.z) : 0.0;
    float latitude = atan(direction.y, level);
    vec3 colour = texture2D(frame, vec2(0.5 + longitude / (2.0 * pi), 0.5 - latitude / pi)).rgb;
    gl_FragColor = vec4(colour, 1.0);
  }`

export type Picture = {
  /** Takes over what the video shows; throws where the browser does not let it be read. */
  take(video: HTMLVideoElement): void
  draw(rotation: Rotation, reach: [x: number, y: number]): void
  /** Nothing is seen until there is another frame, but what is behind the canvas. */
  clear(): void
  destroy(): void
}

type Gl = WebGLRenderingContext | WebGL2RenderingContext
type Uniforms = { reach: WebGLUniformLocation | null; rotation: WebGLUniformLocation | null }

/** Undefined without WebGL. What was lost with the context is asked for by `onRestored`. */
export function openPicture(canvas: HTMLCanvasElement, onRestored: () => void): Picture | undefined {
  const gl = openContext(canvas)
  if (!gl) return undefined
  let uniforms = prepare(gl)
  if (!uniforms) return undefined
  let hasFrame = false
  let scaled: HTMLCanvasElement | undefined

  const onLost = (event: Event) => {
    // Otherwise it is lost for good.
    event.preventDefault()
    uniforms = undefined
    hasFrame = false
  }
  const onFound = () => {
    uniforms = prepare(gl)
    if (uniforms) onRestored()
  }
  canvas.addEventListener('webglcontextlost', onLost)
  canvas.addEventListener('webglcontextrestored', onFound)

  return {
    take(video) {
      if (!uniforms || video.readyState < video.HAVE_CURRENT_DATA || video.videoWidth === 0) return
      const limit: number = gl.getParameter(gl.MAX_TEXTURE_SIZE)
      const isTooLarge = Math.max(video.videoWidth, video.videoHeight) > limit
      if (isTooLarge) scaled ??= document.createElement('canvas')
      const source = isTooLarge && scaled ? scaleDown(video, scaled, limit) : video
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, source)
      hasFrame = true
    },
    draw(rotation, reach) {
      if (!uniforms || !hasFrame) return
      gl.viewport(0, 0, canvas.width, canvas.height)
      gl.uniform2fv(uniforms.reach, reach)
      gl.uniformMatrix3fv(uniforms.rotation, false, rotation)
      gl.drawArrays(gl.TRIANGLES, 0, 3)
    },
    clear() {
      hasFrame = false
      gl.clear(gl.COLOR_BUFFER_BIT)
    },
    destroy() {
      canvas.removeEventListener('webglcontextlost', onLost)
      canvas.removeEventListener('webglcontextrestored', onFound)
      // A page may have few of them, and the collector takes its time.
      gl.getExtension('WEBGL_lose_context')?.loseContext()
    },
  }
}

function openContext(canvas: HTMLCanvasElement): Gl | null {
  const options: WebGLContextAttributes = { alpha: true, antialias: false, depth: false, stencil: false }
  const second = canvas.getContext('webgl2', options) as WebGL2RenderingContext | null
  return second ?? (canvas.getContext('webgl', options) as WebGLRenderingContext | null)
}

function prepare(gl: Gl): Uniforms | undefined {
  const program = gl.createProgram()
  // Null when the context was lost once more.
  if (!program) return undefined
  for (const [type, source] of [
    [gl.VERTEX_SHADER, vertexShader],
    [gl.FRAGMENT_SHADER, fragmentShader],
  ] as const) {
    const shader = gl.createShader(type)
    if (!shader) return undefined
    gl.shaderSource(shader, source)
    gl.compileShader(shader)
    gl.attachShader(program, shader)
  }
  gl.bindAttribLocation(program, 0, 'corner')
  gl.linkProgram(program)
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return undefined
  gl.useProgram(program)

  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer())
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 3, -1, -1, 3]), gl.STATIC_DRAW)
  gl.enableVertexAttribArray(0)
  gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0)

  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture())
  // No mipmaps: at the back the longitude jumps from one end to the other, which looks like a far reduced picture
  // there and gives a line. WebGL 1 repeats no picture whose sides are not powers of two; half a pixel is lost.
  const isSecond = 'texStorage2D' in gl
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, isSecond ? gl.REPEAT : gl.CLAMP_TO_EDGE)
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE)
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR)
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR)
  gl.clearColor(0, 0, 0, 0)
  return {
    reach: gl.getUniformLocation(program, 'reach'),
    rotation: gl.getUniformLocation(program, 'rotation'),
  }
}

function scaleDown(video: HTMLVideoElement, canvas: HTMLCanvasElement, limit: number): HTMLCanvasElement {
  const scale = limit / Math.max(video.videoWidth, video.videoHeight)
  const width = Math.max(1, Math.floor(video.videoWidth * scale))
  const height = Math.max(1, Math.floor(video.videoHeight * scale))
  // To set a size clears the canvas, even if it is the same.
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height })
  canvas.getContext('2d')?.drawImage(video, 0, 0, width, height)
  return canvas
}
