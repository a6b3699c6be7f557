// SPDX-License-Identifier: GPL-2.0
// What --help says.
#ifndef WEFT_APPS_ISOSURFACE_USAGE_H
#define WEFT_APPS_ISOSURFACE_USAGE_H

#include <string_view>

namespace isosurface {

inline constexpr std::string_view kUsage =
    R"(isosurface: draws the surface on which a volume's samples have a given value, on one host or several

  isosurface generate FORMULA --points N|XxYxZ --out VOLUME.vtk [--ascii]
      makes a volume; FORMULA is gyroid, marschner-lobb or ball
  isosurface render VOLUME.vtk --out PICTURE.png [--surface SURFACE.vtk] [--window X,Y,Z,EDGE] [PICTURE]
      does all of it in this process; --window takes a part of the volume

Three filters do the same, each on any host. Begin where you like: each waits for the next one.
  isosurface filter read VOLUME.vtk --to HOST:PORT [--block CELLS] [STREAM]
  isosurface filter extract --listen HOST:PORT --to HOST:PORT [--iso VALUE] [STREAM]
  isosurface filter render --listen HOST:PORT --out PICTURE.png [--surface SURFACE.vtk] [PICTURE] [STREAM]

A viewer that moves a window of a volume on another host, and measures its updates:
  isosurface serve VOLUME.vtk --listen HOST:PORT [--block POINTS] [STREAM]
      answers viewers, until it is stopped
  isosurface view HOST:PORT [--window EDGE] [--step POINTS] [--moves N] [--update partial|complete]
                  [--draw] [--json] [--out PICTURE.png] [PICTURE] [STREAM]
      partial: asks only for what a move brings into the window; --draw draws each update as well

PICTURE is any of
  --iso VALUE           the surface's value (0)
  --size WIDTHxHEIGHT   in pixels (512x512)
  --view AZIMUTH,ELEVATION  from where, in degrees (30,25)
STREAM is any of
  --transport rdma|tcp  what carries the chunks (rdma)
  --slots N --slot BYTES    where this end takes chunks (8 slots of 262144 bytes)
  --patience SECONDS    how long a silent neighbour is waited for (60)

Files are written whole or not at all. The status is 0 when all is done, 1 when it is not, and 2
when the command line or the volume is wrong.
)";

}  // namespace isosurface

#endif  // WEFT_APPS_ISOSURFACE_USAGE_H
