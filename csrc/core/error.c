/* error.c: the one way in which the core reports a failure. */
#include "pfnnc.h"

#include <stdarg.h>
#include <stdio.h>

pfnn_status pfnn_fail(pfnn_error *error, pfnn_status code, int64_t index, const char *format, ...)
{
    if (!error)
        return code;

    error->code = code;
    error->index = index;
    error->line = error->column = 0;

    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return code;
}
